"""Wrong answers, deaths and stops: who restarts what, and who leaves it alone."""
from stage import *  # noqa: F403


def test_degraded_is_restarted():
    healthy()
    old = life()
    behave(chat="wrong", only_pid=main_pid())
    canary(ok=(2,))
    action = settled_action()
    check("clean", action["state"] == "clean", action["state"])
    check("a restart by R2", decisions("R2 degraded%")[0]["kind"] == "restart")
    check("a new life", life() != old and action["life"] == old)
    check("one job", sent() == 1 and starts() == 2, starts())
    say(str([(step["step"], step["ms"], step.get("detail")) for step in action["steps"]]))


if __name__ == "__main__":
    main(globals())
