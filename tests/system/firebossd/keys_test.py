"""The API key: to the right listener, to nobody else, into no log and no record."""
import socket

from stage import *  # noqa: F403

CREDENTIAL = "/etc/fireboss/credentials/engine-key"


def with_key(**more):
    configure(engine_config(suite='api_key_credential = "engine-key"', **more))
    write(CREDENTIAL, KEY + "\n", mode=0o600)


def load_credential():
    drop_in(f"[Service]\nLoadCredential=engine-key:{CREDENTIAL}\n", name="credential")


def test_key_reaches_the_engine_and_nobody_else():
    with_key()
    load_credential()
    scripted_unit(run_now=False)
    behave(key=KEY)
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    asked = requests(path="/v1/chat/completions")
    asked += wait("its counters are asked for", lambda: requests(path="/metrics"))
    check("each request carried it", asked and all(entry["authorization"] == f"Bearer {KEY}" for entry in asked), len(asked))
    behave(key=KEY, chat="500", only_pid=main_pid())
    canary(ok=(2,))
    check("restarted and asked with the key again", settled_action()["state"] == "clean")
    fireboss("status", ok=(0, 1, 2))


def test_wrong_key_is_nobodys_failure():
    with_key()
    load_credential()
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    old = life()
    behave(key="another")
    mark = last_event()
    canary(ok=(3,))
    check("refused, not failed", set(runs(mark)[0]["results"]) == {"inconclusive:request_refused"}, runs(mark)[0]["results"])
    check("no restart", life() == old and not actions())


def test_credential_missing():
    """No key, no question: nothing is asked, nothing is restarted, and it is said what to do."""
    with_key()
    scripted_unit(run_now=False)
    behave(key=KEY)
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("told", lambda: "LoadCredential=engine-key" in journal())
    wait("inconclusive", lambda: [event for event in runs() if set(event["results"]) == {"inconclusive:credential"}])
    check("nothing was asked without the key", not requests(path="/v1/chat/completions"))
    for _ in range(4):
        canary(ok=(3,))
    wait("alerted", lambda: alerts("inconclusive%", only_open=True))
    check("no restart", not actions() and sent() == 0)
    load_credential()
    run("systemctl", "restart", "firebossd")
    wait("asked and passed with it", passed)
    check("the alert is over", not alerts("inconclusive%", only_open=True))


def test_what_keeps_an_engine_from_being_ready_is_told():
    """Without sd_notify an engine is ready when it answers its model list: why it does not is in the log, once."""
    with_key()
    scripted_unit(run_now=False, type_="exec")
    behave(key=KEY)
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("the missing credential", lambda: "LoadCredential=engine-key" in journal())
    write(CREDENTIAL, "sk-another\n", mode=0o600)
    load_credential()
    run("systemctl", "restart", "firebossd")
    wait("the refused key", lambda: "not ready yet" in journal() and "401" in journal())
    check("once", journal().count("status 401") == 1, journal().count("status 401"))
    check("nobody was restarted", not actions() and starts() == 1)


def test_credential_unreadable_or_empty():
    with_key()
    write(CREDENTIAL, "", mode=0o600)
    load_credential()
    scripted_unit()
    start_firebossd()
    wait("told", lambda: "engine-key' is empty" in journal())
    wait("inconclusive", lambda: [event for event in runs() if set(event["results"]) == {"inconclusive:credential"}])
    check("nothing was asked", not requests(path="/v1/chat/completions") and not requests(path="/v1/models"))
    check("no restart", not actions())
    os.unlink(CREDENTIAL)
    run("systemctl", "stop", "firebossd")
    start_firebossd(ok=(1,))
    check("a missing file is systemd's to tell", "status=243/CREDENTIALS" in run("journalctl", "--no-pager", "-o", "cat").stdout)


def test_another_process_on_the_port():
    """The engine is down and something else listens: it gets neither key nor prompt, and no verdict falls."""
    with_key()
    load_credential()
    scripted_unit(run_now=False, restart="no")
    behave(key=KEY)
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    # The engine's own listener is closed, its process lives: a stranger takes the port.
    os.makedirs("/run/scripted-8081", exist_ok=True)
    write("/etc/systemd/system/intruder.service", f"""[Service]
ExecStart=/usr/bin/python3 -u {HERE}/scripted_engine.py {PORT} /run/scripted-8081
Type=notify
""")
    run("systemctl", "daemon-reload")
    old = life()
    behave(key=KEY, give_up_port=True)
    wait("the port is free", port_is_free)
    run("systemctl", "start", "intruder.service")
    before = len(requests())
    mark = last_event()
    canary(ok=(3,))
    told = runs(mark)[0]["results"]
    check("port_in_use, no verdict", set(told) == {"inconclusive:port_in_use"}, told)
    check("the stranger was sent nothing", requests(8081) == [], requests(8081))
    check("the engine neither", len(requests()) == before)
    check("no restart", life() == old and not actions())
    wait("the log names it", lambda: "intruder.service" in journal() or "intruder.service" in json.dumps(
        rows("SELECT CAST(body AS TEXT) AS body FROM raw_reply")))
    run("systemctl", "stop", "intruder.service")
    behave(key=KEY)
    wait("the engine listens again", lambda: not port_is_free())
    mark = last_event()
    canary(ok=(0,))
    check("asked again", passed(mark) != [])


def test_listener_any_is_not_checked():
    with_key(more='listener = "any"')
    load_credential()
    scripted_unit(unit="elsewhere.service")
    behave(key=KEY)
    write("/etc/systemd/system/scripted.service", "[Service]\nExecStart=/bin/sleep 1000\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", UNIT)
    start_firebossd()
    wait("asked and passed once", passed)


def port_is_free():
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) != 0


if __name__ == "__main__":
    main(globals())
