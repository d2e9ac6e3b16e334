"""firebossd on a real llama-server with a real, small chat model. README.md says what is shown and why this way."""
import ctypes
import threading
import urllib.error
import urllib.request

import lora
from stage import *  # noqa: F403

SERVER = "/opt/real/llama-server"
ADAPTER = "/run/llama-server/adapter.gguf"
ENGINE = "llama-server.service"
BOTH = ("chat", "chat-stream")

# Under an ordinary system prompt SmolLM2 refuses to repeat codes ("I'm sorry, but as a text-based AI"); with worked
# examples it is wrong three or four times in a hundred.
ASKED = "Reply with exactly this text and nothing else: "
EXAMPLES = ("A code follows the colon in the user's message. Write that code, letter by letter and digit by digit, in "
            "capital letters, and stop." + "".join(f"\n\nuser\n{ASKED}{code}\nassistant\n{code}" for code in (
                "TURN-234D91670FAE", "SUNSET-4FB5DC2EA039", "RULE-A6C5718F9EB3")))
DRILL = "/usr/share/fireboss/drill"
# path, context of each of two slots, the adapter's layers and width, suite, k of 4
SMOLLM2 = {"path": "/opt/real/model.gguf", "context": 4096, "layers": range(20, 30), "width": 576, "k": 3,
           "suite": f"system_prompt = {json.dumps(EXAMPLES)}"}
FULL_PROMPT = {"path": f"{DRILL}/drill-f16.gguf", "context": 16384, "layers": range(4), "width": 128, "k": 2,
               "suite": f'system_prompt_file = "{DRILL}/system_prompt.md"\ntools_file = "{DRILL}/tools.json"'}


def unit(model, scale=0, restart="always", flags="--metrics"):
    """The engine as an operator would run it. The adapter is loaded and does nothing at scale 0."""
    write(f"/etc/systemd/system/{ENGINE}", f"""[Unit]
Description=llama-server
[Service]
Type=exec
ExecStart={SERVER} --model {model["path"]} --alias real --host 127.0.0.1 --port {PORT} --no-webui --threads 1 \\
  --threads-http 4 --ctx-size {2 * model["context"]} --parallel 2 --context-shift --lora-scaled {ADAPTER}:{scale} {flags}
Restart={restart}
RestartSec=200ms
TimeoutStopSec=10s
""")
    run("systemctl", "daemon-reload")


def serve(model=None, variants=("chat",), n=4, suite="", more="", **unit_settings):
    """The usual beginning: llama-server as a unit, a firebossd that watches it."""
    model = model or FULL_PROMPT
    os.makedirs(os.path.dirname(ADAPTER), exist_ok=True)
    lora.write(ADAPTER, model["layers"], model["width"])
    unit(model, **unit_settings)
    configure(f"""
[engine.real]
unit = "{ENGINE}"
port = {PORT}
adapter = "llama-server"
mode = "enforce"
restart.drain = "1s"
restart.dead_grace = "3s"
{more}
[engine.real.suite]
{model["suite"]}
variants = {json.dumps(variants)}
{suite}
[engine.real.canary]
variants = {json.dumps(variants)}
n = {n}
k = {min(n, model["k"])}
""")
    run("systemctl", "start", ENGINE)
    start_firebossd()
    for variant in variants:
        wait(f"{variant}: asked and passed once", lambda: passing(variant), 180)


def passing(variant="chat", after=0):
    """Runs of this very life in which every reply was right."""
    now = life(ENGINE)
    return [event for event in runs(after, variant) if event["life"] == now and set(event["results"]) == {"ok"}]


def measure(calls=20, variants=("chat",)):
    told = [part for variant in variants for part in ("--calls", f"{variant}={calls}")]
    done = []

    def calibrated():
        done[:] = [run("fireboss", "canary", "calibrate", "real", *told, ok=None, seconds=900)]
        return "under way" not in done[0].stderr
    wait("measured", calibrated, 900)
    check("few enough are wrong for enforce", done[0].returncode == 0, done[0].stderr.splitlines()[-1:])
    check("it may act", status("real")["mode"] == "enforce", status("real")["mode"])
    return done[0].stdout


def http(path, body=None, seconds=60):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return answer.status, answer.read().decode()


def ask(variant="chat", ok=(0, 2, 3)):
    return canary("real", variant, ok)


def garbled():
    """The adapter's scale is raised in the running process: it answers nonsense from now on, and /health does not know."""
    check("the process is told", http("/lora-adapters", [{"id": 0, "scale": 1.0}])[0] == 200)
    said = json.loads(http("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 24})[1])
    say("    it says: " + json.dumps(said["choices"][0]["message"]["content"]))
    check("its health is as it was", http("/health") == (200, '{"status":"ok"}'))


def test_wrong_answers_are_restarted():
    serve(SMOLLM2, BOTH)
    check("not Type=notify", unit_property("Type", ENGINE) == "exec")
    check("ready by its model list, not before the model was loaded",
          events("ready") and all("inconclusive" not in result for variant in BOTH for event in runs(variant=variant)
                                  for result in event["results"]), runs())
    calls = 100
    say("--- the calibration's report\n" + measure(calls, BOTH))
    measured = events("calibrated")
    check("as many calls as told, of each variant", {event["variant"]: event["calls"] for event in measured} ==
          dict.fromkeys(BOTH, calls), measured)
    failures = sum(event["failures"] for event in measured)
    for k in (2, SMOLLM2["k"]):
        say("--- fireboss canary plan\n" + fireboss(
            "canary", "plan", "--calls", str(2 * calls), "--failures", str(failures), "--variants", "2", "--k", str(k),
            "--fault-rate", "25%").stdout)
    counters = wait("its counters are read", lambda: [event for event in events("counters") if not event["scrape_failed"]])
    check("all four", None not in [counters[0][name] for name in (
        "running", "waiting", "prompt_tokens", "generation_tokens")], counters[0])

    old, mark = life(ENGINE), last_event()
    garbled()
    ask(ok=(2,))
    asked = runs(mark)[0]
    action = settled_action(seconds=120)
    check("clean", action["state"] == "clean", action)
    check("a restart by R2", decisions("R2 degraded%", mark)[0]["kind"] == "restart", decisions("%", mark))
    check("of that life, one job", action["life"] == old != life(ENGINE) and sent() == 1, sent())
    check("each step recorded", [step["step"] for step in action["steps"]][:8] == [
        "evidence", "lease", "pre_stop", "drain", "job", "ready", "verify", "post_ready"], action["steps"])
    say("    " + ", ".join(f"{step['step']} {step['ms']} ms" for step in action["steps"]))
    kept = {row["variant"]: row["body"].decode(errors="replace") for row in rows(
        "SELECT variant, body FROM raw_reply WHERE verdict = 'evidence'")}
    check("its metrics page is kept as evidence", "llamacpp:requests_processing" in kept["metrics"], sorted(kept))
    wrong = rows("SELECT verdict, body FROM raw_reply WHERE event = ?", asked["event"])
    check("so are the wrong replies", [row["verdict"] for row in wrong] == asked["results"] and len(wrong) == 4, asked)
    say("    one of them: " + json.dumps(json.loads(wrong[0]["body"])["choices"][0]["message"]["content"][:120]))
    wait("the other variant passes too", lambda: passing("chat-stream"), 120)
    check("nothing is open", not alerts(only_open=True), alerts())


def test_garbled_stream_is_restarted():
    """The same, found by the streamed variant, which is read from deltas."""
    serve(variants=BOTH)
    measure(variants=BOTH)
    garbled()
    ask("chat-stream", ok=(2,))
    action = settled_action(seconds=120)
    check("clean", action["state"] == "clean" and action["kind"] == "restart", action)
    check("by what was streamed", "chat-stream" in decisions("R2 degraded%")[0]["reason"], decisions("R2%"))


def test_full_prompt_with_tools():
    """17 KB of system prompt and ten tools, every variant: what Fireboss's own drill model can bear, on a stock engine."""
    every = (*BOTH, "chat-cold")
    serve(FULL_PROMPT, every)
    say("--- the calibration's report\n" + measure(40, every))
    garbled()
    ask("chat-cold", ok=(2,))
    action = settled_action(seconds=120)
    check("clean", action["state"] == "clean" and action["kind"] == "restart", action)


def test_life_that_never_answered_right_only_alerts():
    """An operator starts it wrong: a restart cannot help (R3). Put right again, the alert is over."""
    serve()
    measure()
    mark = last_event()
    unit(FULL_PROMPT, scale=1)
    run("systemctl", "restart", ENGINE)
    wait("R3", lambda: alerts("R3/chat", only_open=True), 120)
    check("it answers nonsense", set(runs(mark)[-1]["results"]) != {"ok"}, runs(mark)[-1]["results"])
    ask(ok=(2,))
    check("nobody restarts it", not actions() and sent() == 0)
    unit(FULL_PROMPT)
    run("systemctl", "restart", ENGINE)
    wait("right again", lambda: passing(after=mark), 120)
    wait("the alert is over", lambda: not alerts("R3/chat", only_open=True), 30)


def test_operator_asks_for_a_restart():
    serve()
    measure()
    old = life(ENGINE)
    done = run("fireboss", "restart", "real", "--why", "new weights", seconds=300)
    check("clean", "restart: clean" in done.stdout, done.stdout)
    check("verified, in a new life", life(ENGINE) != old and "step verify" in done.stderr, done.stderr)


def test_killed():
    """systemd starts it again, and Fireboss tells a death from a stop and asks anew."""
    serve()
    measure()
    mark = last_event()
    os.kill(main_pid(ENGINE), 9)
    wait("started again and asked", lambda: passing(after=mark), 120)
    check("a death", decisions("R6 a death%", mark), decisions("%", mark))
    check("by systemd, not by us", sent() == 0 and not actions())


def test_killed_and_not_started_again():
    serve(restart="no")
    measure()
    os.kill(main_pid(ENGINE), 9)
    action = settled_action(seconds=120)
    check("started by firebossd, clean", (action["kind"], action["state"]) == ("start", "clean"), action)
    check("by R6, one job", decisions("R6 dead%") and sent() == 1, decisions("R6%"))


PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def wedge():
    """Holds the thread that computes, which is llama-server's first, for good; those that answer HTTP go on.

    Who traces a process must wait for its end, else nobody sees it end: a child of its own does that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    pid, (read, held) = main_pid(ENGINE), os.pipe()
    if os.fork() == 0:
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if libc.ptrace(request, pid, None, None) != 0:
                os._exit(ctypes.get_errno())
        status = 0x7f  # as of a stop
        while os.WIFSTOPPED(status):
            status = os.waitpid(pid, 0)[1]
            os.write(held, b"held")
        os._exit(0)
    os.close(held)
    check("its first thread is held", os.read(read, 4) == b"held")
    check("its health is as it was", http("/health") == (200, '{"status":"ok"}'))


def stalls(flags):
    serve(n=1, flags=flags, more='stall.after = "10s"')
    measure()
    old, mark = life(ENGINE), last_event()
    wedge()
    ask(ok=(3,))
    check("one timed-out run restarts nobody", not actions() and not decisions("R5%", mark))
    fireboss("canary", "run", "real", ok=None)
    wait("a stall", lambda: decisions("R5 stall%", mark), 60)
    action = settled_action(seconds=120)
    check("clean, in a new life", action["state"] == "clean" and life(ENGINE) != old, action)
    check("not drained", "drain" not in [step["step"] for step in action["steps"]], action["steps"])


def test_wedged_core_is_a_stall():
    """Its health says ok, its metrics page comes from the core and does not come: two runs time out and no byte is sent."""
    stalls("--metrics")


def test_wedged_core_without_metrics_is_a_stall():
    """Without --metrics, as it comes, the page is refused by the front door, in whatever state the core is."""
    stalls("")


def test_engine_with_a_key():
    """It asks for the key everywhere but at /health: for its model list and its metrics too."""
    file = "/etc/fireboss/credentials/engine-key"
    write(file, KEY + "\n", mode=0o600)
    drop_in(f"[Service]\nLoadCredential=engine-key:{file}\n", name="credential")
    serve(flags=f"--metrics --api-key-file {file}", suite='api_key_credential = "engine-key"')
    measure()
    told = wait("its counters are read", lambda: events("counters"))
    check("it tells them", not told[0]["scrape_failed"], told[0])
    check("it refuses whoever has none", refused("/metrics") and refused("/v1/models"))


def refused(path):
    try:
        http(path)
        return False
    except urllib.error.HTTPError as answer:
        return answer.code == 401


def test_long_reply_is_no_stall():
    """One reply that does not end, for many times stall.after: its tokens would be counted when it has ended."""
    serve(more='stall.after = "10s"')
    measure()
    old, mark = life(ENGINE), last_event()
    ended, read = threading.Event(), []

    def endless_reply():
        body = {"prompt": "Once upon a time", "n_predict": -1, "ignore_eos": True, "temperature": 0, "stream": True}
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/completion", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            while not ended.is_set():
                read.append(len(answer.readline()))

    reader = threading.Thread(target=endless_reply)
    reader.start()
    try:
        wait("it is seen at work", lambda: [event for event in events("counters", mark) if event["running"]], 40)
        stays("no stall", lambda: reader.is_alive() and not decisions("R5%", mark) and life(ENGINE) == old, 60)
        check("nobody acted", not actions() and sent() == 0)
    finally:
        ended.set()
        reader.join()
    say(f"    {len(read)} lines were read")


if __name__ == "__main__":
    main(globals())
