"""The acts of `make demo`. Runs inside the throw-away systemd; every act is checked against the SQLite record."""
import collections
import json
import subprocess
import sys
import threading
import time
import urllib.error

from booted import check, events, failures, http, last_event, rows, run, say, start_fireboss, unit_property, wait, write

ENGINE = "drill"
UNIT = "fireboss-engine.service"
URL = "http://127.0.0.1:8080"
SHARE = "/usr/share/fireboss/drill"

CONFIG = f"""
[engine.{ENGINE}]
unit = "{UNIT}"
port = 8080
adapter = "fireboss-engine"

[engine.{ENGINE}.suite]
system_prompt_file = "{SHARE}/system_prompt.md"
tools_file = "{SHARE}/tools.json"
"""

# The shipped engine unit, with its faults made available for this drill.
ENGINE_DROP_IN = f"""
[Service]
ExecStart=
ExecStart=/usr/bin/fireboss-engine --model {SHARE}/drill-f16.gguf --host 127.0.0.1 --port 8080 --enable-faults
Restart=always
RestartSec=1
"""

# What a real engine has after hours, in a minute.
QUIET_S = 30
AGED = f"""
[engine.{ENGINE}.recycle]
max_age = "1m"
check_every = "10s"

[engine.{ENGINE}.traffic]
quiet_for = "{QUIET_S}s"
quiet_tokens = 0
"""

begun = time.monotonic()


def act(number, title):
    say(f"\n== Act {number}: {title}")
    return time.monotonic()


def ask(text, system=None, tools=None):
    messages = ([{"role": "system", "content": system}] if system else []) + [{"role": "user", "content": text}]
    body = {"model": "drill", "messages": messages, "temperature": 0, "max_tokens": 48}
    if tools:
        body["tools"] = tools
    try:
        status, answer = http(URL + "/v1/chat/completions", body)
    except urllib.error.HTTPError as refused:  # one garbled reply in 20 is an error page, as in the case it was made after
        return refused.code, ""
    return status, json.loads(answer)["choices"][0]["message"]["content"]


def fault(setting):
    http(URL + "/faults", {"set": [setting]})


class HealthWatch:
    """Looks at /health all the time, in a thread: (CLOCK_MONOTONIC in ms at the end of the look, status)."""

    def __init__(self):
        self.looks = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while not self.over.wait(0.05):
            try:
                status = http(URL + "/health", seconds=10)[0]
            except OSError as trouble:
                status = repr(trouble)
            self.looks.append((time.clock_gettime(time.CLOCK_MONOTONIC) * 1000, status))

    def until(self, mono):
        """What was seen before that time; ends the watch."""
        self.over.set()
        self.thread.join()
        return [status for at, status in self.looks if at < mono]


def set_up():
    say("Setting up: firebossd as its own unprivileged user, the embedded engine as the unit it may restart.")
    write(f"/etc/systemd/system/{UNIT}.d/drill.conf", ENGINE_DROP_IN)
    start_fireboss(CONFIG, [UNIT])


def healthy():
    since = act(1, "calibration and healthy canaries under the real 17 KB system prompt and tools")
    asked = wait("the engine adopted, ready and asked once in every variant", lambda: len(events("canary")) >= 3)
    if not asked:
        return
    done = run("fireboss", "canary", "calibrate", ENGINE, "--calls", "chat=12", "--calls", "chat-stream=12", "--calls",
               "chat-cold=4", show=True)
    check("calibrated", done.returncode == 0)
    check("calibration recorded for every variant",
          {event["variant"] for event in events("calibrated")} == {"chat", "chat-stream", "chat-cold"})
    run("fireboss", "mode", ENGINE, "enforce", show=True)
    runs = events("canary")
    check("every variant was asked", {event["variant"] for event in runs} == {"chat", "chat-stream", "chat-cold"})
    wrong = [event for event in runs if event["results"] != ["ok"] * 4]
    check("healthy canaries: every call of every run of every variant right", bool(runs) and not wrong,
          wrong or f"{len(runs)} runs of 4 calls")
    check("nothing restarted", not rows("SELECT id FROM action"))
    say(f"  took {time.monotonic() - since:.0f} s")


def degraded():
    since = act(2, "answers degrade while /health stays 200")
    with open(f"{SHARE}/system_prompt.md", encoding="utf-8") as file:
        prompt = file.read()
    with open(f"{SHARE}/tools.json", encoding="utf-8") as file:
        tools = json.load(file)
    before = {name: unit_property(UNIT, name) for name in ("InvocationID", "NRestarts", "ActiveEnterTimestampMonotonic")}
    mark = last_event()
    watch = HealthWatch()
    # The engine's own age counts many times over from here on: what took 6.6 hours takes a moment.
    fault("degrade=half-age=4h,offset=12h")
    shapes = (("bare prompt", None, None), ("17 KB system prompt", prompt, None), ("17 KB system prompt + tools", prompt, tools))
    wrong = {}
    for name, system, listed in shapes:
        right, statuses = 0, collections.Counter()
        for number in range(5):
            code = f"PONG-{0x1F3A + number * 0x0B17:04X}"
            status, answer = ask(f"Reply with exactly this text and nothing else: {code}", system, listed)
            right += status == 200 and answer == code
            statuses[status] += 1
        wrong[name] = 5 - right
        say(f"  {name}: {right} of 5 right, " + ", ".join(f"HTTP {code} {times} times" for code, times in statuses.items()))
    check("wrong answers under the real prompt and tools", wrong["17 KB system prompt + tools"] > 0)
    journal = run("journalctl", "--no-pager", "-o", "cat", f"_SYSTEMD_INVOCATION_ID={before['InvocationID']}").stdout
    gate = (unit_property(UNIT, "ActiveEnterTimestampMonotonic") == before["ActiveEnterTimestampMonotonic"]
            and unit_property(UNIT, "NRestarts") == "0" and "out of range" not in journal)
    check("the old survival gate (same start time, no restart, no out-of-range line) would be green", gate)

    asked = time.monotonic()
    run("fireboss", "canary", "run", ENGINE, "--variant", "chat", ok=(2,), show=True)
    bad = [event for event in events("canary", mark) if event["variant"] == "chat"]
    check("the canary saw it", bool(bad) and sum(result != "ok" for result in bad[-1]["results"]) >= 2,
          bad[-1]["results"] if bad else "no run")
    # From there on the engine is restarted.
    health = watch.until(bad[-1]["mono"] if bad else 0)
    check("/health said 200 all the time until the canary had its answers", bool(health) and set(health) == {200},
          f"{len(health)} looks: {sorted(set(map(str, health)))}")
    clean = wait("restarted and clean", lambda: rows("SELECT * FROM action WHERE kind = 'restart' AND state = 'clean'"), 90)
    took = time.monotonic() - asked
    if clean:
        decision = rows("SELECT * FROM decision WHERE id = ?", clean[0]["decision"])
        check("decided by rule R2", bool(decision) and decision[0]["reason"].startswith("R2"),
              decision[0]["reason"] if decision else "no decision")
        check("exactly one operation", len(rows("SELECT id FROM action")) == 1)
        check("a new life", unit_property(UNIT, "InvocationID") != before["InvocationID"])
        verified = [event for event in events("canary", mark) if event["results"] == ["ok"] * 4]
        check("verified by a canary of the new life",
              bool(verified) and verified[0]["life"] == unit_property(UNIT, "InvocationID"))
        say(f"  degraded -> restarted -> clean in {took:.1f} s (the question, the restart and the verification)")
    say(f"  took {time.monotonic() - since:.0f} s")


def death():
    since = act(3, "the engine exits 0, and it is called a death")
    mark = last_event()
    old = unit_property(UNIT, "InvocationID")
    fault("exit0")
    try:
        ask("ping")
    except OSError:
        pass
    ended = wait("the end recorded", lambda: events("life_ended", mark), 30)
    if ended:
        check("exit status 0, systemd says success", ended[0].get("exit_status") == 0 and ended[0].get("result") == "success",
              f"result {ended[0].get('result')}, status {ended[0].get('exit_status')}")
        check("no stop job ended it", not ended[0].get("stop_job"))
    said = wait("called a death", lambda: rows(
        "SELECT reason FROM decision WHERE reason LIKE 'R6%' AND last_event > ?", mark), 30)
    if said:
        check("called a death", "death" in said[0]["reason"] or "died" in said[0]["reason"], said[0]["reason"])
    adopted = wait("the new life adopted", lambda: [event for event in events("life_started", mark)
                                                    if event["life"] != old], 30)
    if adopted:
        check("adopted: systemd started it, not firebossd", adopted[0].get("cause") == "systemd", adopted[0].get("cause"))
        passed = wait("probed: every variant passes in the new life", lambda: (
            lambda runs: runs if {event["variant"] for event in runs} >= {"chat", "chat-stream", "chat-cold"} else None)(
                [event for event in events("canary", mark)
                 if event["life"] == adopted[0]["life"] and event["results"] == ["ok"] * 4]), 60)
        check("probed", bool(passed))
    check("Fireboss started nothing itself", len(rows("SELECT id FROM action")) == 1)
    say(f"  took {time.monotonic() - since:.0f} s")


class Traffic:
    """Somebody's requests, one after the other, in a thread."""

    def __init__(self):
        self.over = threading.Event()
        self.answered = 0
        self.ended = None
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def ask(self):
        body = {"model": "drill", "temperature": 0, "max_tokens": 200, "ignore_eos": True,
                "messages": [{"role": "user", "content": "Tell a long story."}]}
        while not self.over.is_set():
            try:
                http(URL + "/v1/chat/completions", body)
                self.answered += 1
            except OSError:
                self.over.wait(0.2)
        self.ended = time.monotonic()

    def stop(self):
        self.over.set()
        self.thread.join()
        return self.ended


def aged():
    since = act(4, "an aged engine: traffic defers its recycle, the canary's own calls do not")
    write("/etc/fireboss/fireboss.toml", CONFIG + AGED)
    run("fireboss", "check-config")
    mark, actions = last_event(), len(rows("SELECT id FROM action"))
    traffic = Traffic()
    run("systemctl", "restart", "firebossd")
    deferred = wait("the recycle deferred by traffic", lambda: rows(
        "SELECT reason, payload FROM decision WHERE kind = 'defer' AND reason LIKE 'recycle%' AND last_event > ?", mark), 120)
    if deferred:
        check("deferred by traffic", json.loads(deferred[0]["payload"])["by"] == "traffic", deferred[0]["reason"])
    check("nothing was done meanwhile", len(rows("SELECT id FROM action")) == actions, f"{traffic.answered} requests answered")
    quiet = traffic.stop()
    # Close to the end of the quiet time: had it counted as traffic, that time would begin again.
    while time.monotonic() < quiet + QUIET_S - 5:
        time.sleep(0.1)
    run("fireboss", "canary", "run", ENGINE, "--variant", "chat", show=True)
    recycle = wait("recycled", lambda: rows("SELECT * FROM action WHERE kind = 'recycle'"), 60)
    if recycle:
        waited = time.monotonic() - quiet
        check("at the first quiet moment, its own calls not counted", QUIET_S <= waited < 2 * QUIET_S - 5,
              f"{waited:.0f} s after the last request of somebody else, quiet_for is {QUIET_S} s")
        clean = wait("verified", lambda: rows("SELECT * FROM action WHERE kind = 'recycle' AND state = 'clean'"), 60)
        check("recycled and verified by a canary", bool(clean))
    say(f"  took {time.monotonic() - since:.0f} s")


def killed():
    since = act(5, "firebossd is killed in mid-restart, and the engine comes back once")
    write("/etc/fireboss/fireboss.toml", CONFIG)
    run("systemctl", "restart", "firebossd")
    mark, life = last_event(), unit_property(UNIT, "InvocationID")
    known = max(row["id"] for row in rows("SELECT id FROM action"))
    wait("the life adopted again", lambda: events("daemon_started", mark - 1))
    asked = subprocess.Popen(["fireboss", "restart", ENGINE, "--why", "demo"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait("the restart under way", lambda: rows("SELECT step FROM action WHERE id > ? AND step IN ('job', 'ready')", known))
    run("systemctl", "kill", "--signal=KILL", "firebossd")
    asked.wait(60)
    back = wait("the operation ended", lambda: rows("SELECT state FROM action WHERE id > ? AND state <> 'open'", known), 60)
    if back:
        check("firebossd is back and took it up where it was", back[0]["state"] == "clean", back[0]["state"])
    lives = {event["life"] for event in events("life_started", mark)} - {life}
    check("one new life, one operation", len(lives) == 1 and len(rows("SELECT id FROM action WHERE id > ?", known)) == 1,
          f"{len(lives)} lives")
    check("the engine is up", unit_property(UNIT, "ActiveState") == "active")
    now = unit_property(UNIT, "InvocationID")
    wait("every variant asked in the new life", lambda: {event["variant"] for event in events("canary", mark)
                                                         if event["life"] == now} >= {"chat", "chat-stream", "chat-cold"})
    say(f"  took {time.monotonic() - since:.0f} s")


def closing():
    say("\n== fireboss status")
    run("fireboss", "status", show=True)  # status 0: all is well again
    say("\n== fireboss history")
    run("fireboss", "history", "-n", "12", show=True)
    say("\n== replay of this record")
    run("fireboss", "replay", show=True)
    say("""
On your own engine:
  1. make install, then write /etc/fireboss/fireboss.toml: [engine.NAME] with unit, port and your system prompt and tools
     (fireboss check-config tells what is wrong; docs/configuration.md has every key)
  2. fireboss polkit-rule > /etc/polkit-1/rules.d/50-fireboss.rules && systemctl enable --now firebossd
  3. fireboss canary calibrate NAME; look at fireboss status for a while; then fireboss mode NAME enforce""")


def main():
    set_up()
    for part in (healthy, degraded, death, aged, killed, closing):
        try:
            part()
        except Exception as trouble:  # an act that breaks is a miss, and the later ones still tell something
            check(f"{part.__name__} ran through", False, repr(trouble))
    say(f"\n{len(failures)} missed, {time.monotonic() - begun:.0f} s")
    if failures:
        run("journalctl", "--no-pager", "-o", "short-monotonic", "-u", "firebossd", "-u", UNIT, "-n", "60", show=True)
    return 1 if failures else 0


sys.exit(main())
