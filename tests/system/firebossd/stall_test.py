"""R5: no progress, proven, restarts; a timeout alone never does."""
from stage import *  # noqa: F403

STALL = '[engine.e.stall]\nafter = "10s"\n'


def test_frozen_counters():
    configure(engine_config(restart="budget = 5") + STALL)
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    behave(metrics="frozen", chat="hang", only_pid=main_pid())
    wait("a stall", lambda: decisions("R5 stall%"), 90)
    action = settled_action(seconds=60)
    check("clean", action["state"] == "clean", action)
    check("nothing is drained", "drain" not in [step["step"] for step in action["steps"]], action["steps"])
    check("one job", sent() == 1 and starts() == 2)


def test_real_engine_that_stalls():
    """fireboss-engine under its own fault: health answers, counters stand, requests hang."""
    share = "/usr/share/fireboss/drill"
    unit = "fireboss-engine.service"
    drop_in(f"[Service]\nExecStart=\nExecStart=/usr/bin/fireboss-engine --model {share}/drill-f16.gguf --host 127.0.0.1 "
            "--port 8080 --enable-faults\n", unit=unit)
    configure(engine_config(unit=unit, restart="budget = 5") + STALL)
    run("systemctl", "start", unit)
    start_firebossd()
    wait("asked and passed once", passed, 60)
    calibrate()
    old = life(unit)
    import urllib.request
    urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8080/faults", json.dumps({"set": ["stall"]}).encode(), {
        "Content-Type": "application/json"}), timeout=10).read()
    asked = subprocess.Popen(["fireboss", "canary", "run", "e"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait("a stall", lambda: decisions("R5 stall%"), 90)
    action = settled_action(seconds=90)
    asked.wait(60)
    check("clean", action["state"] == "clean", action)
    check("a new life", life(unit) != old)


def test_counters_that_move_are_no_stall():
    """Work present all the time, a slow engine, counters that move: never."""
    configure(engine_config(restart="budget = 5", n=1, k=1) + STALL)
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    behave(chat_delay=4)
    asked = [subprocess.Popen(["/usr/bin/python3", "-c", "import urllib.request as u, json\nfor _ in range(9):\n u.urlopen(u.Request("
                               f"'http://127.0.0.1:{PORT}/v1/chat/completions', json.dumps({{'messages':[{{'content':'x'}}]}}"
                               ").encode()), timeout=60).read()"]) for _ in range(2)]
    stays("no stall", lambda: not decisions("R5%") and starts() == 1, 33)
    for process in asked:
        process.kill()


def test_two_timed_out_runs_without_counters():
    """No metrics: two runs timed out and no byte sent on the port in between."""
    configure(engine_config(restart="budget = 5", n=1, k=1, more='adapter = "none"') + STALL)
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    behave(chat="hang", only_pid=main_pid())
    canary(ok=(3,))
    check("one timed-out run restarts nobody", not actions() and not decisions("R5%"))
    fireboss("canary", "run", "e", ok=None)
    wait("a stall", lambda: decisions("R5 stall%timed out%"), 30)
    action = settled_action(seconds=60)
    check("clean", action["state"] == "clean", action)
    check("one job", sent() == 1 and starts() == 2)


if __name__ == "__main__":
    main(globals())
