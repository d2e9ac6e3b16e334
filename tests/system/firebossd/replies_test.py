"""Whatever an engine answers: a verdict, nobody restarted unless a rule says so, no crash."""
from stage import *  # noqa: F403

# What comes of each, as the policy sees it. Broken ways to answer "right" count as failures only where something
# arrived that a healthy engine would not have sent.
FAILING = {
    "wrong": "wrong_answer",
    "rubbish": "http_error",
    "broken_utf8": "encoding",
    "half_stream": "truncated",
    "500": "http_error",
    "deep": "http_error",
}
SAYING_NOTHING = {
    "429": "inconclusive:busy",
    "503": "inconclusive:busy",
    "401": "inconclusive:request_refused",
    "404": "inconclusive:request_refused",
    "redirect": "inconclusive:request_refused",
    "endless": "inconclusive:too_large",
    "not_http": "inconclusive:not_http",
    "reset": "inconclusive:reset",
}


def test_failing_replies_are_named():
    configure(engine_config(mode="observe", variants='["chat", "chat-stream"]'))
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", lambda: passed() and [e for e in runs(0, "chat-stream") if set(e["results"]) == {"ok"}])
    for how, verdict in FAILING.items():
        behave(chat=how)
        variant = "chat-stream" if how == "half_stream" else "chat"
        mark = last_event()
        canary(variant=variant, ok=(2,))
        told = runs(mark, variant)[0]["results"]
        check(how, told == [verdict] * 4, told)
    largest = rows("SELECT max(length(body)) AS n FROM raw_reply")[0]["n"]
    check("raw replies are bounded", largest <= 65536, largest)
    check("nothing was done", not actions() and sent() == 0)


def test_failing_replies_restart_by_the_rule():
    """Half a body, broken UTF-8 and rubbish are wrong answers like any other."""
    healthy(restart='budget = 10', variants='["chat"]')
    for number, how in enumerate(("broken_utf8", "half_body", "rubbish", "500"), 1):
        behave(chat=how, only_pid=main_pid())
        canary(ok=(2,))
        check(how, settled_action(number)["state"] == "clean")
    check("one job each", sent() == 4)


def test_nothing_measured_restarts_nobody():
    healthy(restart='budget = 10')
    old = life()
    for how, verdict in SAYING_NOTHING.items():
        behave(chat=how)
        mark = last_event()
        canary(ok=(3,))
        told = runs(mark)[0]["results"]
        check(how, told == [verdict] * 4, told)
    wait("lasting inconclusiveness alerts", lambda: alerts("inconclusive%", only_open=True))
    check("nobody restarted", life() == old and not actions() and sent() == 0)
    behave(chat="ok")
    mark = last_event()
    canary(ok=(0,))
    check("and measured again", passed(mark) != [] and not alerts("inconclusive%", only_open=True))


def test_slow_replies_restart_nobody():
    """A trickle and a hanging call end by their deadline; no traffic is lost, no restart: counters move or are idle."""
    configure(engine_config(n=1, k=1, restart="budget = 10"))
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", passed)
    calibrate()
    old = life()
    for how in ("trickle", "hang"):
        behave(chat=how)
        mark = last_event()
        begun = time.monotonic()
        canary(ok=(3,))
        told = runs(mark)[0]["results"]
        check(how, told == ["inconclusive:timeout"], told)
        check("within its deadline", time.monotonic() - begun < 45, f"{time.monotonic() - begun:.0f} s")
    check("nobody restarted", life() == old and not actions() and sent() == 0)


def test_rubbish_model_list_and_metrics():
    configure(engine_config())
    scripted_unit(run_now=False)
    behave(models="rubbish", metrics="rubbish")
    run("systemctl", "start", UNIT)
    start_firebossd()
    stays("no fingerprint is made up", lambda: not events("ready"), 3)
    behave(models="500", metrics="none")
    stays("nor from an error page", lambda: not events("ready"), 2)
    behave()
    wait("asked and passed once", passed)
    check("nobody restarted", not actions())


def test_engine_that_is_not_notify():
    """Ready is the first model list that a listener of ours answers."""
    configure(engine_config())
    scripted_unit(run_now=False, type_="exec")
    behave(start_delay=1.5)
    run("systemctl", "start", UNIT)
    start_firebossd()
    check("systemd calls it active at once", unit_property("ActiveState") == "active")
    stays("not ready before it answers", lambda: not events("ready"), 0.7)
    wait("ready and passed", passed)


if __name__ == "__main__":
    main(globals())
