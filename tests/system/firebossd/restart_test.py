"""Wrong answers, deaths and stops: who is restarted, by whom, and who is left alone."""
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
    steps = [step["step"] for step in action["steps"]]
    check("each step timed and recorded", steps[:8] == ["evidence", "lease", "pre_stop", "drain", "job", "ready", "verify",
                                                        "post_ready"], action["steps"])
    check("within seconds", action["steps"][-1]["ms"] < 6000, action["steps"][-1]["ms"])
    evidence = {row["variant"]: row["body"].decode() for row in rows("SELECT variant, body FROM raw_reply WHERE verdict = 'evidence'")}
    check("evidence of unit, journal and metrics", set(evidence) == {"unit", "journal", "metrics"}, sorted(evidence))
    check("the metrics page is the engine's", "vllm:num_requests_running" in evidence["metrics"])
    wrong = rows("SELECT body FROM raw_reply WHERE verdict = 'wrong_answer'")
    check("the four wrong replies are kept", len(wrong) == 4 and b"I think it is" in wrong[0]["body"], len(wrong))


def test_foreign_nonce_is_degraded_by_itself():
    healthy()
    behave(chat="foreign", only_pid=main_pid())
    canary(ok=(2,))
    check("clean", settled_action()["state"] == "clean")
    check("it is told", decisions("R2 degraded%nonce of another call%") != [])


def test_observe_tells_and_touches_nothing():
    configure(engine_config(mode="observe"))
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    old = life()
    behave(chat="wrong")
    canary(ok=(2,))
    would = wait("told", lambda: decisions("R2 degraded%observe: would restart%"))
    canary(ok=(2,))
    stays("nothing is sent", lambda: sent() == 0 and life() == old and not actions(), 2)
    check("said once an episode", len(decisions("%would restart%")) == 1, [row["reason"] for row in would])
    refused = fireboss("mode", "e", "enforce")
    check("the operator may switch", "enforce" in refused.stdout)


def test_enforce_is_refused_before_calibration():
    configure(engine_config())
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    check("configured enforce, and it observes", status()["mode"] != "enforce", status()["mode"])
    refused = fireboss("mode", "e", "enforce", ok=(3,))
    check("the verb is refused and says what to do", "fireboss canary calibrate e" in refused.stderr, refused.stderr.strip())
    behave(chat="wrong")
    canary(ok=(2,))
    stays("nothing is sent", lambda: sent() == 0 and not actions(), 1)
    check("and it is told", decisions("R2 degraded%observe until calibrated%") != [])


def test_never_passed_only_alerts():
    configure(engine_config(mode="observe"))
    scripted_unit(run_now=False)
    behave(chat="wrong")
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("R3", lambda: alerts("R3/chat"))
    canary(ok=(2,))
    check("alerted once", len(alerts("R3/%")) == 1)
    check("no restart wanted", not decisions("R2 degraded%"))


def test_operators_stop_is_left_alone():
    healthy(restart='dead_grace = "3s"')
    mark = last_event()
    run("systemctl", "stop", UNIT)
    wait("down_on_purpose", lambda: decisions("down_on_purpose%", mark))
    stays("nobody repairs it", lambda: unit_property("ActiveState") == "inactive" and not actions(), 4)
    check("no canary of a stopped engine", not runs(mark))
    check("status says so", "purpose" in status()["answers"], status()["answers"])
    run("systemctl", "start", UNIT)
    wait("adopted and probed", lambda: passed(mark))
    check("started by the operator", events("life_started", mark)[0]["cause"] == "operator", events("life_started", mark))


def test_stop_of_what_waits_for_its_restart():
    """How a crash loop is ended by hand: the unit waits for systemd's own restart when it is stopped."""
    healthy(restart='dead_grace = "3s"')
    drop_in("[Service]\nRestartSec=60s\n", unit=UNIT)
    mark = last_event()
    os.kill(main_pid(), 9)
    wait("waits for its restart", lambda: unit_property("SubState").startswith("auto-restart"))
    run("systemctl", "stop", UNIT)
    wait("down_on_purpose", lambda: decisions("down_on_purpose%", mark))
    stays("nobody repairs it", lambda: unit_property("ActiveState") in ("inactive", "failed") and not actions(), 6)


def test_an_engine_without_a_name_is_none():
    """`fireboss restart "$ENGINE"` with the variable unset."""
    healthy()
    old = life()
    for verb in (("restart", ""), ("mode", "", "observe"), ("canary", "run", ""), ("canary", "calibrate", "")):
        refused = fireboss(*verb, ok=(3,))
        check(" ".join(verb), "which engine" in refused.stderr and "e" in refused.stderr, refused.stderr)
    check("nothing was done", life() == old and not actions() and status()["mode"] == "enforce")


def test_stopped_while_firebossd_was_down():
    healthy(restart='dead_grace = "3s"')
    run("systemctl", "stop", "firebossd")
    run("systemctl", "stop", UNIT)
    mark = last_event()
    start_firebossd()
    wait("down_on_purpose", lambda: status()["answers"].find("purpose") >= 0)
    stays("nobody repairs it", lambda: unit_property("ActiveState") == "inactive" and not actions(), 4)
    run("systemctl", "start", UNIT)
    wait("adopted and probed", lambda: passed(mark))


def test_stopped_before_firebossd_ever_ran():
    configure(engine_config(restart='dead_grace = "3s"'))
    scripted_unit()
    run("systemctl", "stop", UNIT)
    start_firebossd()
    stays("nobody repairs it", lambda: unit_property("ActiveState") == "inactive" and not (
        os.path.exists(DB) and actions()), 4)
    run("systemctl", "start", UNIT)
    wait("adopted and probed", lambda: passed())


def test_died_while_firebossd_was_down():
    configure(engine_config(restart='dead_grace = "3s"'))
    scripted_unit(restart="no")
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    run("systemctl", "kill", "--signal=KILL", "firebossd")
    os.kill(main_pid(), 9)
    wait("dead", lambda: unit_property("ActiveState") == "failed")
    mark = last_event()
    wait("started again by firebossd", lambda: starts() == 2, 30)
    wait("probed", lambda: passed(mark), 30)
    check("by R6", decisions("R6 dead%")[-1]["kind"] == "restart", decisions("R6%"))
    check("once", sent() == 1)


def test_operators_restart_is_nobodys_fault():
    healthy()
    mark = last_event()
    run("systemctl", "restart", UNIT)
    wait("adopted and probed", lambda: passed(mark))
    check("no death", not decisions("R6 a death%", mark), decisions("%", mark))
    check("no action, no charge", not actions() and status()["restarts_in_window"] == 0)
    check("no alert", not alerts())
    check("started by the operator", events("life_started", mark)[0]["cause"] == "operator")


def test_operator_asks_firebossd_for_a_restart():
    healthy()
    old = life()
    done = fireboss("restart", "e", "--why", "new weights")
    check("clean", "restart: clean" in done.stdout, done.stdout)
    check("progress is shown", "step verify" in done.stderr, done.stderr)
    check("a new life, not charged", life() != old and status()["restarts_in_window"] == 0)


def test_operators_stop_ends_an_operation():
    """The stop comes while requests are drained: nothing is sent, and it stays stopped."""
    healthy(restart='dead_grace = "3s"', more='adapter = "none"', drain="60s")
    behave(chat="wrong", stop_delay=0.3)
    with held_request():
        canary(ok=(2,))
        wait("draining", lambda: actions() and actions()[0]["step"] == "drain")
        run("systemctl", "stop", UNIT)
    action = settled_action()
    check("abandoned", action["state"] == "abandoned", action)
    stays("it stays stopped", lambda: unit_property("ActiveState") == "inactive" and sent() == 0, 3)
    check("down_on_purpose", "purpose" in status()["answers"])


def test_queued_stop_job_wins():
    """A stop job runs when our turn comes: nothing is sent, the operator wins."""
    healthy(restart='dead_grace = "3s"', more='adapter = "none"', drain="60s")
    drop_in("[Service]\nTimeoutStopSec=60s\n", unit=UNIT)
    behave(chat="wrong", stop_delay=-1)
    with held_request():
        canary(ok=(2,))
        wait("draining", lambda: actions() and actions()[0]["step"] == "drain")
        run("systemctl", "stop", "--no-block", UNIT)
        wait("being stopped", lambda: unit_property("ActiveState") == "deactivating")
    action = settled_action()
    check("before the stop was done", unit_property("ActiveState") == "deactivating", unit_property("ActiveState"))
    run("systemctl", "kill", "--signal=KILL", UNIT)
    check("abandoned, the operator wins", action["state"] == "abandoned", action)
    wait("stopped", lambda: unit_property("ActiveState") in ("inactive", "failed"))
    stays("it stays stopped", lambda: unit_property("ActiveState") in ("inactive", "failed") and sent() == 0, 3)
    check("down_on_purpose", "purpose" in status()["answers"], status()["answers"])


def test_exit_0_under_restart_on_failure():
    """systemd does not restart what exits 0 under Restart=on-failure: firebossd does, once, charged."""
    configure(engine_config(restart='dead_grace = "3s"'))
    scripted_unit(restart="on-failure")
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    mark = last_event()
    behave(chat="exit0", only_pid=main_pid())
    fireboss("canary", "run", "e", ok=None)
    wait("a death", lambda: decisions("R6 a death%", mark))
    wait("started", lambda: starts() == 2)
    action = settled_action()
    check("a start, clean", (action["kind"], action["state"]) == ("start", "clean"), action)
    check("charged", status()["restarts_in_window"] == 1, status()["restarts_in_window"])
    check("one job", sent() == 1)


def test_six_deaths_without_systemds_restart():
    """Started at most as often as the budget allows, then a page, and no loop."""
    configure(engine_config(restart='dead_grace = "3s"'))
    scripted_unit(restart="no")
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    for death in range(1, 7):
        if unit_property("ActiveState") != "active":
            break
        os.kill(main_pid(), 9)
        if death <= 2:
            wait(f"started after death {death}", lambda: starts() == death + 1 and passed_in_this_life(), 30)
    wait("the page", lambda: alerts("R4/dead", only_open=True))
    stays("it stays down", lambda: starts() == 3 and sent() == 2, 4)
    text = alerts("R4/dead")[0]["text"]
    check("the page says what it means", "stays down" in text and "budget" in text, text)
    check("status is critical", run("fireboss", "status", ok=(2,)).returncode == 2)
    mark = last_event()
    run("systemctl", "start", UNIT)
    wait("the operator's start is adopted", lambda: passed(mark))
    check("and the page is over", not alerts("R4/dead", only_open=True))


def passed_in_this_life():
    now = life()
    return [event for event in passed() if event["life"] == now]


def test_start_limit_is_not_fought():
    configure(engine_config(restart='dead_grace = "3s"'))
    scripted_unit(head="StartLimitIntervalSec=1h\nStartLimitBurst=3")
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    for _ in range(5):
        wait("up or given up", lambda: unit_property("ActiveState") in ("active", "failed"))
        if unit_property("ActiveState") == "failed":
            break
        killed = main_pid()
        os.kill(killed, 9)
        wait("its death is known", lambda: main_pid() != killed)
    wait("given up", lambda: unit_property("ActiveState") == "failed")
    wait("the page", lambda: alerts("R6/limit", only_open=True))
    stays("firebossd starts nothing", lambda: sent() == 0 and unit_property("ActiveState") == "failed", 4)


def test_engine_that_ignores_sigterm():
    healthy()
    drop_in("[Service]\nTimeoutStopSec=2s\n", unit=UNIT)
    behave(chat="wrong", stop_delay=-1, only_pid=main_pid())
    canary(ok=(2,))
    action = settled_action()
    check("clean after systemd killed it", action["state"] == "clean", action)
    check("one job", sent() == 1 and starts() == 2)


def test_engine_that_does_not_come_up_again():
    """The restart takes it down and it fails to start: it is started once more, then paged for."""
    healthy(restart='dead_grace = "3s"')
    drop_in("[Service]\nRestart=no\nExecStartPre=/bin/sh -c 'test ! -e /run/broken'\n", unit=UNIT)
    write("/run/broken", "")
    behave(chat="wrong")
    canary(ok=(2,))
    wait("down and paged for", lambda: alerts("R4/dead", only_open=True), 40)
    check("restarted once, started once", sent() == 2, sent())
    os.unlink("/run/broken")
    mark = last_event()
    run("systemctl", "reset-failed", UNIT)
    behave(chat="ok")
    run("systemctl", "start", UNIT)
    wait("adopted", lambda: passed(mark))
    check("the page is over", not alerts("R4/dead", only_open=True))


def test_dependents_are_not_taken_down():
    healthy()
    write("/etc/systemd/system/gateway.service",
          f"[Unit]\nBindsTo={UNIT}\nAfter={UNIT}\n[Service]\nExecStart=/bin/sleep 1000\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "gateway.service")
    old = life()
    behave(chat="wrong")
    canary(ok=(2,))
    action = settled_action()
    check("not sent", action["state"] == "failed" and sent() == 0, action)
    told = wait("told", lambda: alerts("operation", only_open=True))[0]["text"]
    check("it names the dependent", "gateway.service" in told, told)
    check("engine and gateway are left alone", life() == old and unit_property("ActiveState", "gateway.service") == "active")


class held_request:
    """A client's request that is in flight for as long as the block lasts."""

    def __enter__(self):
        import socket
        self.socket = socket.create_connection(("127.0.0.1", PORT))
        self.socket.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")

    def __exit__(self, *_):
        self.socket.close()


if __name__ == "__main__":
    main(globals())
