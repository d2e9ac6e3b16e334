"""kill -9 of firebossd at every step of a restart: one restart in all, and the engine is back each time."""
from stage import *  # noqa: F403

KILL = "/var/cache/fireboss/kill-at-sync"


def ready_to_be_killed(restart='budget = 100\nready_deadline = "60s"'):
    configure(engine_config(restart=restart))
    scripted_unit()
    drop_in(f"[Service]\nRestartSec=50ms\nEnvironment=LD_PRELOAD={HERE}/libkill_at_sync.so\n")
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()


def quiet():
    """Nothing is under way and the engine of now has passed."""
    open_ = [action for action in actions() if action["state"] == "open"]
    asked = [event for event in passed() if event["life"] == life()]
    return not open_ and asked and unit_property("ActiveState") == "active"


def one_restart(what, kill, expect_steps=None):
    """Degrades the engine, has firebossd killed, and sees one restart and everything well again."""
    before, mark, killed = starts(), last_event(), daemon_restarts()
    kill()
    behave(chat="wrong", only_pid=main_pid())
    fireboss("canary", "run", "e", ok=None)
    wait(f"{what}: killed and back", lambda: daemon_restarts() > killed and events("daemon_started", mark), 30)
    if not events("canary_begun", mark):  # our wish went down with it before it was recorded
        fireboss("canary", "run", "e", ok=None)
    wait(f"{what}: restarted and well", lambda: starts() > before and quiet(), 40)
    stays(f"{what}: no second one", lambda: starts() == before + 1 and quiet(), 0.5)
    return [action for action in actions() if action["state"] != "open"]


def daemon_restarts():
    return int(unit_property("NRestarts", "firebossd"))


def test_at_every_transaction():
    """The steps are those of an undisturbed restart's record: the daemon dies at each of its transactions in turn."""
    ready_to_be_killed()
    mark = last_event()
    behave(chat="wrong", only_pid=main_pid())
    canary(ok=(2,))
    settled_action()
    wait("well", quiet)
    undisturbed = rows("SELECT id, kind FROM event WHERE id > ? ORDER BY id", mark)
    say("  the record of a restart: " + " ".join(row["kind"] for row in undisturbed))
    steps = {step["step"] for step in actions()[0]["steps"]}
    check("all steps are in it", steps >= {"evidence", "lease", "pre_stop", "drain", "job", "ready", "verify", "post_ready"}, steps)
    seen = set()
    for number in range(1, len(undisturbed) + 1):
        known = {action["id"] for action in actions()}
        one_restart(f"killed at transaction {number} of {len(undisturbed)}",
                    lambda at=number: write(KILL, f"{at}\n", mode=0o666))
        seen |= {step["step"] for action in actions() if action["id"] not in known for step in action["steps"][-1:]}
        if os.path.exists(KILL):
            os.unlink(KILL)
    say(f"  actions ended in the steps {sorted(seen)}")
    check("not one job too many", sent() <= starts() - 1, (sent(), starts()))
    check("the record names what was given up", any(action["state"] == "abandoned" for action in actions()))


def test_while_the_job_runs():
    """Between two transactions: while systemd stops the engine, and while it starts it."""
    ready_to_be_killed()

    def kill_when(state):
        subprocess.Popen([sys.executable, "-c", f"""
import subprocess, time
while subprocess.run(["systemctl", "show", "{UNIT}", "-p", "ActiveState", "--value"], capture_output=True,
                     text=True).stdout.strip() != "{state}":
    time.sleep(0.01)
subprocess.run(["systemctl", "kill", "--signal=KILL", "firebossd"])
"""])

    for state in ("deactivating", "activating"):
        before, mark, killed = starts(), last_event(), daemon_restarts()
        kill_when(state)
        behave(chat="wrong", only_pid=main_pid(), stop_delay=1.5, start_delay=1.5)
        fireboss("canary", "run", "e", ok=None)
        wait(f"{state}: killed and back", lambda: daemon_restarts() > killed and events("daemon_started", mark), 30)
        wait(f"{state}: restarted and well", lambda: starts() > before and quiet(), 40)
        stays(f"{state}: no second one", lambda: starts() == before + 1 and quiet(), 3)
    check("one job each", sent() == 2 and starts() == 3, (sent(), starts()))


def test_stopped_in_the_middle():
    """systemctl restart firebossd while the engine starts: the same."""
    ready_to_be_killed()
    behave(chat="wrong", only_pid=main_pid(), start_delay=2)
    canary(ok=(2,))
    wait("being started", lambda: starts() == 2)
    run("systemctl", "restart", "firebossd")
    wait("well", quiet, 30)
    stays("no second one", lambda: starts() == 2 and sent() == 1, 2)
    action = actions()[0]
    check("followed to its end", action["state"] == "clean", action)


if __name__ == "__main__":
    main(globals())
