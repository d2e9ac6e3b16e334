"""The bus or the manager goes away in the middle; polkit says no."""
import socket

from stage import *  # noqa: F403


def held_restart(delay):
    """A restart whose new life takes `delay` seconds to come up, as far as its being sent."""
    behave(chat="wrong", only_pid=main_pid(), start_delay=delay)
    canary(ok=(2,))
    wait("sent", lambda: sent() == 1)
    wait("being started", lambda: starts() == 2)


def test_bus_restarted_while_the_job_runs():
    healthy()
    held_restart(3)
    run("systemctl", "restart", "dbus.service")
    wait("noticed", lambda: "the bus is gone" in journal())
    wait("back", lambda: "the bus is back" in journal())
    action = settled_action()
    check("followed to its end", action["state"] == "clean", action)
    check("one job", sent() == 1 and starts() == 2)
    check("the trouble is in the record, and over", [e["over"] for e in events("own_fault") if e["what"] == "bus_lost"] ==
          [False, True], events("own_fault"))
    check("no alert stays", not alerts("own_fault%", only_open=True))


def test_bus_restarted_while_draining():
    healthy(more='adapter = "none"', drain="60s")
    behave(chat="wrong", only_pid=main_pid())
    with socket.create_connection(("127.0.0.1", PORT)):
        canary(ok=(2,))
        wait("draining", lambda: actions() and actions()[0]["step"] == "drain")
        run("systemctl", "restart", "dbus.service")
    wait("restarted in the end", lambda: [a for a in actions() if a["state"] == "clean"], 40)
    check("one job", sent() == 1 and starts() == 2, (sent(), starts()))


def test_bus_away_for_long():
    """Nothing is begun without it; canaries go on; then fresh evidence decides."""
    healthy()
    run("systemctl", "stop", "dbus.service", "dbus.socket", ok=None)
    wait("noticed", lambda: "the bus is gone" in journal())
    behave(chat="wrong", only_pid=main_pid())
    canary(ok=(2,))
    stays("nothing is sent", lambda: sent() == 0 and starts() == 1, 3)
    check("refused by R8", decisions("R8%") != [], decisions())
    run("systemctl", "start", "dbus.socket")
    wait("back", lambda: "the bus is back" in journal(), 40)
    wait("restarted", lambda: [a for a in actions() if a["state"] == "clean"], 40)
    check("one job", sent() == 1 and starts() == 2)


def test_manager_reexecuted_while_the_job_runs():
    healthy()
    held_restart(3)
    run("systemctl", "daemon-reexec")
    action = settled_action()
    check("followed to its end", action["state"] == "clean", action)
    check("one job", sent() == 1 and starts() == 2)


def test_manager_reloaded_and_reexecuted_in_quiet():
    healthy()
    mark, old = last_event(), life()
    run("systemctl", "daemon-reload")
    run("systemctl", "daemon-reexec")
    canary(ok=(0,))
    check("the same life", not events("life_ended", mark) and not events("life_started", mark) and life() == old)
    os.kill(main_pid(), 9)
    wait("a death is still seen", lambda: decisions("R6 a death%", mark))
    wait("and adopted", lambda: [event for event in passed(mark) if event["life"] != old])


def test_polkit_rule_missing():
    """systemd refuses: a clear page, the engine is left alone, and it is not tried in a loop."""
    configure(engine_config(restart="budget = 10"), rules=False)
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    old = life()
    behave(chat="wrong", only_pid=main_pid())
    canary(ok=(2,))
    action = settled_action()
    check("failed at the job", (action["state"], action["steps"][4]["step"]) == ("failed", "job"), action)
    text = wait("the page", lambda: alerts("operation", only_open=True))[0]["text"]
    check("says what to do", "polkit" in text and "fireboss polkit-rule" in text, text)
    stays("the engine is left alone", lambda: life() == old and starts() == 1, 4)
    check("not tried in a loop", len(actions()) <= 2, len(actions()))
    check("which the next scheduled canary may do again", decisions("%not tried again at once%") != [], decisions())
    polkit_rules()
    fireboss("restart", "e")
    wait("with the rule it works", lambda: [a for a in actions() if a["state"] == "clean"], 30)
    check("restarted once", starts() == 2, starts())


if __name__ == "__main__":
    main(globals())
