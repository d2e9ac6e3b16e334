"""What the end-to-end tests of firebossd share: configuration, units, the record, and what must hold at every end.

Runs as root inside the throw-away systemd. A test is a function test_*(); main() runs the one that is named. A fact
that does not hold raises Missed, and the journal is shown.
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import traceback

DB = "/var/lib/fireboss/fireboss.db"
CONFIG = "/etc/fireboss/fireboss.toml"
HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = "scripted.service"
PORT = 8080
KEY = "sk-the-secret-of-the-tests-0123456789"


class Missed(Exception):
    pass


def say(text):
    print(text, flush=True)


def check(what, truth, detail=None):
    """One asserted fact."""
    told = "" if detail is None else f": {detail}"
    say(f"  [{'ok' if truth else 'MISSED'}] {what}{told}")
    if not truth:
        raise Missed(f"{what}{told}")
    return truth


def run(*command, ok=(0,), seconds=100, stdin=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, input=stdin, errors="replace")
    if ok is not None and done.returncode not in ok:
        raise Missed(f"{' '.join(command)} ended with status {done.returncode}: {done.stdout}{done.stderr}")
    return done


def wait(what, condition, seconds=20, every=0.05):
    """Waits for a fact with a deadline; returns what the condition returned."""
    begun = time.monotonic()
    while True:
        found = condition()
        if found:
            say(f"  [ok] {what} ({time.monotonic() - begun:.1f} s)")
            return found
        if time.monotonic() - begun > seconds:
            raise Missed(f"{what}: not within {seconds} s")
        time.sleep(every)


def stays(what, condition, seconds):
    """A fact that must hold all the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            raise Missed(f"{what}: did not last {seconds} s")
        time.sleep(0.05)
    say(f"  [ok] {what} (for {seconds} s)")


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


# ---- the record

def rows(query, *args, database=None):
    for attempt in range(100):
        try:
            with sqlite3.connect(f"file:{database or DB}?mode=ro", uri=True, timeout=5) as db:
                db.row_factory = sqlite3.Row
                return [dict(row) for row in db.execute(query, args)]
        except sqlite3.OperationalError as trouble:
            if attempt == 99 or not os.path.exists(database or DB):
                raise Missed(f"the record cannot be read: {trouble}") from trouble
            time.sleep(0.05)


def last_event():
    return rows("SELECT coalesce(max(id), 0) AS id FROM event")[0]["id"]


def events(kind, after=0):
    found = rows("SELECT id, payload FROM event WHERE kind = ? AND id > ? ORDER BY id", kind, after)
    return [dict(json.loads(row["payload"]), event=row["id"]) for row in found]


def decisions(like="%", after=0):
    return rows("SELECT id, kind, reason, count, last_event FROM decision WHERE reason LIKE ? AND last_event > ? "
                "ORDER BY id", like, after)


def alerts(like="%", only_open=False):
    return [row for row in rows("SELECT key, severity, text, resolved FROM alert WHERE key LIKE ? ORDER BY id", like)
            if not only_open or row["resolved"] is None]


def actions():
    return [dict(row, steps=json.loads(row["steps"])) for row in rows("SELECT * FROM action ORDER BY id")]


def runs(after=0, variant="chat"):
    return [event for event in events("canary", after) if event["variant"] == variant]


# ---- systemd

def unit_property(name, unit=UNIT):
    return run("systemctl", "show", unit, "--property", name, "--value").stdout.strip()


def life(unit=UNIT):
    return unit_property("InvocationID", unit)


def main_pid(unit=UNIT):
    return int(unit_property("MainPID", unit) or 0)


def journal(unit="firebossd", *more):
    run("journalctl", "--sync", ok=None)
    return run("journalctl", "--no-pager", "-o", "cat", "-u", unit, *more).stdout


def sent():
    """How many jobs firebossd has sent, by its own log: what cannot be told from the record alone."""
    return len(re.findall(r"(?:RestartUnit|StartUnit) of \S+ sent", journal()))


# ---- the engine

def folder(port=PORT):
    return f"/run/scripted-{port}"


def behave(port=PORT, **settings):
    """How the scripted engine answers from now on; see scripted_engine.DEFAULTS."""
    write(f"{folder(port)}/behaviour.json", json.dumps(settings))


def lines_of(name, port=PORT):
    try:
        with open(f"{folder(port)}/{name}.jsonl", encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def requests(port=PORT, path=None):
    return [entry for entry in lines_of("requests", port) if path is None or entry["path"] == path]


def starts(port=PORT):
    return sum(entry["what"] == "start" for entry in lines_of("starts", port))


def scripted_unit(unit=UNIT, port=PORT, service="", head="", type_="notify", run_now=True, restart="always"):
    """The scripted engine as a unit."""
    os.makedirs(folder(port), exist_ok=True)
    write(f"/etc/systemd/system/{unit}", f"""[Unit]
Description=Scripted engine
{head}
[Service]
Type={type_}
ExecStart=/usr/bin/python3 -u {HERE}/scripted_engine.py {port} {folder(port)}
Restart={restart}
RestartSec=200ms
TimeoutStopSec=5s
{service}
""")
    run("systemctl", "daemon-reload")
    if run_now:
        run("systemctl", "start", unit)


# ---- Fireboss

def engine_config(name="e", unit=UNIT, port=PORT, mode="enforce", n=4, k=2, variants='["chat"]', more="", suite="",
                  restart="", drain="1s"):
    return f"""
[engine.{name}]
unit = "{unit}"
port = {port}
mode = "{mode}"
{more}
[engine.{name}.suite]
system_prompt = "You are a helpful assistant."
{suite}
[engine.{name}.canary]
n = {n}
k = {k}
variants = {variants}
[engine.{name}.restart]
drain = "{drain}"
{restart}
"""


def configure(text, rules=True):
    run("systemd-sysusers")
    run("systemd-tmpfiles", "--create")
    os.makedirs("/etc/fireboss/conf.d", exist_ok=True)
    write(CONFIG, text)
    if rules:
        polkit_rules()


def polkit_rules():
    write("/etc/polkit-1/rules.d/50-fireboss.rules", run("fireboss", "polkit-rule").stdout)


def drop_in(text, unit="firebossd.service", name="test"):
    write(f"/etc/systemd/system/{unit}.d/{name}.conf", text)
    run("systemctl", "daemon-reload")


def under_valgrind():
    """Memory errors end firebossd as a crash; its hardening has to give way."""
    drop_in("""[Service]
ExecStart=
ExecStart=/usr/bin/valgrind --undef-value-errors=no --exit-on-first-error=yes --error-exitcode=139 /usr/bin/firebossd
MemoryDenyWriteExecute=no
SystemCallFilter=
LockPersonality=no
ProtectProc=default
WatchdogSec=0
""", name="valgrind")


def start_firebossd(ok=(0,)):
    if os.environ.get("FIREBOSS_TEST_VALGRIND"):
        under_valgrind()
    return run("systemctl", "start", "firebossd.service", ok=ok)


def fireboss(*verb, ok=(0,)):
    return run("fireboss", *verb, ok=ok)


def calibrate(name="e", calls=4, variants=("chat",)):
    told = [part for variant in variants for part in ("--calls", f"{variant}={calls}")]
    wait("not busy with its own questions", lambda: run(
        "fireboss", "canary", "calibrate", name, *told, ok=None).returncode == 0)


def canary(name="e", variant="chat", ok=(0, 2, 3)):
    """A run that the operator asks for; waits its turn behind one that is under way."""
    for _ in range(200):
        done = run("fireboss", "canary", "run", name, "--variant", variant, ok=None)
        if "under way" not in done.stderr and "not ready" not in done.stderr:
            break
        time.sleep(0.05)
    else:
        raise Missed(f"fireboss canary run: never its turn: {done.stderr}")
    if done.returncode not in ok:
        raise Missed(f"fireboss canary run: status {done.returncode}: {done.stdout}{done.stderr}")
    return done


def healthy(**config):
    """The usual beginning: an engine that answers, a firebossd that watches it, calibrated and enforcing."""
    configure(engine_config(**config))
    scripted_unit()
    start_firebossd()
    wait("asked and passed once", lambda: passed())
    calibrate()
    check("it may act", status()["mode"] == "enforce", status()["mode"])


def passed(after=0):
    return [event for event in runs(after) if set(event["results"]) == {"ok"}]


def status(name="e"):
    done = run("fireboss", "--json", "status", ok=(0, 1, 2, 3))
    return next(engine for engine in json.loads(done.stdout)["engines"] if engine["engine"] == name)


def settled_action(number=1, seconds=30):
    """The numberth action, once it has ended."""
    def ended():
        found = actions()
        return found[number - 1] if len(found) >= number and found[number - 1]["state"] != "open" else None
    return wait(f"action {number} ended", ended, seconds)


def replay_equal():
    if not last_event():
        return
    done = run("fireboss", "replay", ok=None)
    check("replay equal", done.returncode == 0, (done.stdout + done.stderr).strip())


def secret_kept():
    """The key stands in no log, record or message of Fireboss."""
    everything = run("journalctl", "--no-pager", "-o", "export").stdout
    check("no key in the journal", KEY not in everything)
    for path in (DB, DB + "-wal"):
        if os.path.exists(path):
            with open(path, "rb") as file:
                check(f"no key in {path}", KEY.encode() not in file.read())


def no_crash():
    log = run("journalctl", "--no-pager", "-o", "cat", "-u", "firebossd", "_PID=1").stdout
    bad = [line for line in log.splitlines()
           if re.search(r"Main process exited, code=(dumped|killed)|core-dump|watchdog|status=139", line) and "9/KILL" not in line]
    check("firebossd has not crashed", not bad, bad or None)


def main(tests):
    name = sys.argv[1]
    say(f"== {name}")
    try:
        tests[name]()
        if not getattr(tests[name], "crashes_on_purpose", False):
            no_crash()
        if os.path.exists(DB) and not getattr(tests[name], "broken_record", False):
            replay_equal()
        secret_kept()
    except Exception as trouble:
        if not isinstance(trouble, Missed):
            traceback.print_exc()
        say(f"MISSED: {trouble}\n--- the journal")
        say("\n".join(run("journalctl", "--no-pager", "-o", "short-monotonic", ok=None).stdout.splitlines()[-150:]))
        if os.path.exists(DB):
            say("--- fireboss history")
            say(run("fireboss", "history", "-n", "40", ok=None).stdout)
        shutil.rmtree(folder(), ignore_errors=True)
        sys.exit(1)
