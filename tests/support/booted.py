"""What the scripts have in common that drive Fireboss inside the throw-away systemd: say what is seen, check it against
the SQLite record, wait for a fact with a deadline."""
import json
import os
import sqlite3
import subprocess
import time
import urllib.request

DB = "/var/lib/fireboss/fireboss.db"
failures = []


def say(text):
    print(text, flush=True)


def check(what, truth, detail=""):
    """One asserted fact; a miss makes the script fail."""
    say(f"  [{'ok' if truth else 'MISSED'}] {what}{': ' + str(detail) if detail != '' else ''}")
    if not truth:
        failures.append(what)
    return truth


def run(*command, ok=(0,), show=False, seconds=150):
    # What is shown is shown in the order in which it was written: progress before its result.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if show else subprocess.PIPE, text=True,
                          timeout=seconds)
    if show or done.returncode not in ok:
        for line in (done.stdout + (done.stderr or "")).splitlines():
            say("    " + line)
    if done.returncode not in ok:
        say(f"  [MISSED] {' '.join(command)} ended with status {done.returncode}")
        failures.append(" ".join(command))
    return done


def rows(query, *args):
    with sqlite3.connect(f"file:{DB}?mode=ro", uri=True, timeout=5) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query, args)]


def events(kind, after=0):
    found = rows("SELECT id, payload, wall, mono FROM event WHERE kind = ? AND id > ? ORDER BY id", kind, after)
    return [dict(json.loads(row["payload"]), event=row["id"], wall=row["wall"], mono=row["mono"]) for row in found]


def last_event():
    return rows("SELECT coalesce(max(id), 0) AS id FROM event")[0]["id"]


def wait(what, condition, seconds=60):
    """Waits for a fact to appear in the record, with a deadline."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    check(f"{what} within {seconds} s", False)
    return None


def unit_property(unit, name):
    return run("systemctl", "show", unit, "--property", name, "--value").stdout.strip()


def http(url, body=None, seconds=60):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=seconds) as answer:
        return answer.status, answer.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def start_fireboss(config, units):
    """Installs the configuration and the polkit rule, and starts the engines' units and firebossd."""
    run("systemd-sysusers")
    run("systemd-tmpfiles", "--create")
    write("/etc/fireboss/fireboss.toml", config)
    write("/etc/polkit-1/rules.d/50-fireboss.rules", run("fireboss", "polkit-rule").stdout)
    run("fireboss", "check-config", show=True)
    run("systemctl", "daemon-reload")
    for unit in units:
        run("systemctl", "start", unit)
    run("systemctl", "start", "firebossd.service")
