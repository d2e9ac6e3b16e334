"""firebossd's own metrics page: what it says, and who may ask."""
import http.client
import socket

from stage import *  # noqa: F403

METRICS_PORT = 9717


def ask(path="/metrics", method="GET", host=None, port=METRICS_PORT):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def series(name, **labels):
    """Values of a series by its whole label text, of the label values asked for."""
    found = {}
    for line in ask()[1].splitlines():
        series_name, _, value = line.rpartition(" ")
        if series_name.partition("{")[0] == name and all(f'{key}="{text}"' in series_name for key, text in labels.items()):
            found[series_name] = float(value)
    return found


def value(name, **labels):
    found = series(name, **labels)
    return next(iter(found.values())) if len(found) == 1 else None


def test_the_page_follows_the_engine():
    healthy()
    check("serving", value("fireboss_engine_state", state="serving") == 1)
    last = value("fireboss_canary_last_run_timestamp_seconds", outcome="pass")
    check("asked just now", last is not None and abs(time.time() - last) < 60, last)
    check("enforce", value("fireboss_engine_mode", mode="enforce") == 1)
    check("the record is there", value("fireboss_database_bytes", file="main") >= 4096
          and value("fireboss_database_bytes", file="wal") > 4096)
    check("it knows its own memory", value("process_resident_memory_bytes") > 1_000_000)
    # Degraded, and the operator's hand is not asked for: the restart shows, and what it came to.
    behave(chat="wrong", only_pid=main_pid())
    canary()
    wait("restarted", lambda: series("fireboss_operations_total", action="restart", result="clean")
         and value("fireboss_operations_total", action="restart", result="clean") == 1, 60)
    check("wrong calls are counted", value("fireboss_canary_calls_total", grade="fail") >= 2)
    check("by verdict", value("fireboss_canary_not_passed_total", verdict="wrong_answer") >= 2)
    check("clean again", value("fireboss_engine_degraded") == 0)
    check("charged", value("fireboss_restart_budget_left") == 1)
    # firebossd anew: the last pass is remembered, the counters are not.
    before = value("fireboss_canary_last_run_timestamp_seconds", outcome="pass")
    behave(chat="hang")
    run("systemctl", "restart", "firebossd")
    wait("watching again", lambda: value("fireboss_engine_state", state="serving") == 1)
    check("the last pass is the one before", abs(value("fireboss_canary_last_run_timestamp_seconds", outcome="pass") - before) < 2)
    check("counters begin anew", value("fireboss_operations_total", action="restart", result="clean") == 0)


def test_who_may_ask():
    healthy()
    check("as itself", ask()[0] == 200)
    check("by name", ask(host="localhost:9717")[0] == 200)
    check("not by another's name", ask(host="rebound.example")[0] == 421)
    check("nothing is changed", ask(method="POST")[0] == 405)
    check("no other page", ask("/")[0] == 404)
    listening = run("ss", "-ltnH", "sport", "=", f":{METRICS_PORT}", ok=None).stdout
    check("on loopback alone", "127.0.0.1:9717" in listening and "0.0.0.0:9717" not in listening, listening.strip())
    secret = ask()[1]
    check("no key on it", KEY not in secret)


def test_a_port_that_is_taken_keeps_it_from_nothing():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", METRICS_PORT))
        taken.listen()
        healthy()
        check("told", "no metrics: cannot listen on 127.0.0.1 port 9717" in journal(), None)
    write(CONFIG, '[metrics]\nlisten = "off"\n' + engine_config())
    run("systemctl", "restart", "firebossd")
    wait("watching", lambda: status()["health"] in ("ok", "warning"))
    check("switched off", run("ss", "-ltnH", "sport", "=", f":{METRICS_PORT}").stdout == "")


if __name__ == "__main__":
    main(globals())
