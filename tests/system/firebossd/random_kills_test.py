"""firebossd ended at moments that nobody chose: killed, or told to end, while an engine degrades and is restarted."""
import random

from killed_test import quiet, ready_to_be_killed
from stage import *  # noqa: F403

SEED = 20261130
LATEST_S = 1.2  # an undisturbed round takes one to two


def end_it(how):
    if how == "kill":
        run("systemctl", "kill", "--signal=KILL", "firebossd")
    else:
        run("systemctl", "restart", "firebossd")


def rounds(number):
    """Each: the engine degrades, is asked, and firebossd ends at a random moment. One restart each, and all is well."""
    ready_to_be_killed(restart='budget = 100\nbudget_window = "1m"\nuseful_life = "1m"\nready_deadline = "60s"')
    chance = random.Random(SEED)
    cut = set()
    for turn in range(1, number + 1):
        how, after = chance.choice(("kill", "kill", "kill", "restart")), chance.uniform(0, LATEST_S)
        before, daemons = starts(), len(events("daemon_started"))
        behave(chat="wrong", only_pid=main_pid(), start_delay=chance.choice((0, 0, 0.5)),
               stop_delay=chance.choice((0, 0, 0.5)))
        asking = subprocess.Popen(["fireboss", "canary", "run", "e"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after)  # the moment is the test: no event stands for it
        open_ = [action["step"] for action in actions() if action["state"] == "open"]
        cut.add(open_[0] if open_ else "-")
        end_it(how)
        asking.wait(60)
        what = f"{turn} of {number}: {how} after {after:.2f} s, {open_[0] if open_ else 'no operation'}"
        wait(f"{what}: back", lambda: len(events("daemon_started")) > daemons, 30)
        if starts() == before and not any(action["state"] == "open" for action in actions()):
            # The question went down with it, or its answer did: ask again, as the operator would.
            fireboss("canary", "run", "e", ok=None)
        wait(f"{what}: restarted and well", lambda: starts() > before and quiet(), 60)
        stays(f"{what}: no second one", lambda: starts() == before + 1 and quiet(), 0.3)
    say(f"  ended in the steps {sorted(cut)}")
    check("not one job too many", sent() <= starts() - 1, (sent(), starts()))
    check("no operation is left open", all(action["state"] != "open" for action in actions()))
    check("it was caught in the middle of operations", len(cut - {"-"}) >= 2, cut)


def test_20_ends():
    rounds(20)


def test_long_200_ends():
    rounds(200)


if __name__ == "__main__":
    main(globals())
