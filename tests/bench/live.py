"""firebossd on the embedded engine, measured from outside. Runs inside the throw-away systemd; prints BENCH and JSON."""
import json
import os
import re
import sys
import time

from booted import (check, events, failures, http, last_event, rows, run, start_fireboss, unit_property, wait, write)

UNIT = "fireboss-engine.service"
SHARE = "/usr/share/fireboss/drill"
CONFIG = f"""
[engine.drill]
unit = "{UNIT}"
port = 8080
adapter = "fireboss-engine"
canary.variants = ["chat", "chat-stream"]
restart.budget = 20

[engine.drill.suite]
system_prompt_file = "{SHARE}/system_prompt.md"
tools_file = "{SHARE}/tools.json"
"""
DROP_IN = f"""
[Service]
ExecStart=
ExecStart=/usr/bin/fireboss-engine --model {SHARE}/drill-f16.gguf --host 127.0.0.1 --port 8080 --enable-faults
"""
RESTARTS = 5
IDLE_S = 33  # two polls of the metrics page


def journal(unit, after):
    """(seconds since the epoch, message) of a unit's lines from a moment on."""
    lines = run("journalctl", "--no-pager", "-o", "json", "--output-fields=MESSAGE", "-u", unit, f"--since=@{after:.6f}")
    found = [json.loads(line) for line in lines.stdout.splitlines()]
    return [(int(line["__REALTIME_TIMESTAMP"]) / 1e6, line["MESSAGE"]) for line in found
            if isinstance(line.get("MESSAGE"), str)]


def process_facts(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        maps = dict(re.findall(r"^(\w+): +(\d+) kB", file.read(), re.MULTILINE))
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        ticks = file.read().rsplit(")", 1)[1].split()
    cpu = 0.0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            cpu += int(file.read().split()[0]) / 1e6
    return {"peak_kib": int(status["VmHWM"].split()[0]), "rss_kib": int(status["VmRSS"].split()[0]),
            "private_kib": int(maps["Private_Dirty"]) + int(maps["Private_Clean"]), "cpu_ms": cpu,
            "ticks": int(ticks[11]) + int(ticks[12]), "switches": int(status["voluntary_ctxt_switches"])}


def asked_since_ready():
    """Nothing is due any more in the life of now: every variant has been asked once."""
    begun = events("life_started")[-1]["event"]
    return {"chat", "chat-stream"} <= {event["variant"] for event in events("canary", begun)}


def degrade_and_restart():
    """One restart for wrong answers: seconds from the last wrong reply to the job sent, and from there to clean."""
    if not wait("asked in every variant", asked_since_ready):
        return None
    mark, begun = last_event(), time.time()
    http("http://127.0.0.1:8080/faults", {"set": ["degrade=half-age=4h,offset=40h"]})
    run("fireboss", "canary", "run", "drill", "--variant", "chat", ok=(2,))
    ended = wait("restarted and clean", lambda: rows(
        "SELECT * FROM action WHERE state = 'clean' AND decision IN (SELECT id FROM decision WHERE last_event > ?)", mark),
        60)
    if not ended:
        return None
    run("journalctl", "--sync")
    sent = [at for at, line in journal("firebossd.service", begun) if "RestartUnit of" in line and line.endswith("sent")]
    if not check("one job sent", len(sent) == 1, len(sent)):
        return None
    replies = [at for at, line in journal(UNIT, begun) if "prompt tokens" in line and at < sent[0]]
    wrong = [event for event in events("canary", mark) if set(event["results"]) != {"ok"}]
    if not check("a wrong run before it", bool(wrong) and len(replies) >= 4, f"{len(replies)} replies"):
        return None
    return sent[0] - replies[-1], ended[0]["ended"] / 1000 - sent[0]


def main():
    write(f"/etc/systemd/system/{UNIT}.d/drill.conf", DROP_IN)
    start_fireboss(CONFIG, [UNIT])
    wait("asked once in every variant", lambda: events("life_started") and asked_since_ready())
    run("fireboss", "canary", "calibrate", "drill", "--calls", "chat=12", "--calls", "chat-stream=12")
    run("fireboss", "mode", "drill", "enforce")
    timed = [degrade_and_restart() for _ in range(RESTARTS)]
    if None in timed or failures:
        run("journalctl", "--no-pager", "-o", "short-monotonic", "-u", "firebossd", "-n", "60", show=True)
        return 1
    pid = int(unit_property("firebossd.service", "MainPID"))
    before = process_facts(pid)
    time.sleep(IDLE_S)
    after = process_facts(pid)
    print("BENCH " + json.dumps({
        "peak_kib": after["peak_kib"], "rss_kib": after["rss_kib"], "private_kib": after["private_kib"],
        "runs": len(events("canary")), "idle_s": IDLE_S,
        "idle_cpu_ms_per_s": (after["cpu_ms"] - before["cpu_ms"]) / IDLE_S,
        "idle_switches_per_s": (after["switches"] - before["switches"]) / IDLE_S,
        "to_sent": [first for first, _ in timed], "sent_to_clean": [second for _, second in timed]}))
    return 0


sys.exit(main())
