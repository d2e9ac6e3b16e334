"""Who may change things over the control socket, and what it makes of bad input."""
import socket

from stage import *  # noqa: F403

SOCKET = "/run/fireboss/control.sock"


def as_user(user, *command, group=None):
    return run("setpriv", f"--reuid={user}", f"--regid={group or user}", "--init-groups", "--reset-env", *command, ok=None)


def ask(*lines, seconds=5):
    """Sends bytes and returns what comes back until the end or silence."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(seconds)
        client.connect(SOCKET)
        out = b""
        try:
            for line in lines:
                client.sendall(line)
            client.shutdown(socket.SHUT_WR)
            while chunk := client.recv(65536):
                out += chunk
        except (socket.timeout, BrokenPipeError, ConnectionResetError):
            pass
    return out.decode(errors="replace")


def test_bad_input():
    healthy()
    for what, lines, word in (
            ("no JSON", (b"hello\n",), "one JSON object"),
            ("no object", (b"[1, 2]\n",), "one JSON object"),
            ("no verb", (b"{}\n",), "no \\\"verb\\\""),
            ("unknown verb", (b'{"verb": "stop"}\n',), "unknown verb"),
            ("too deep", (b"[" * 50000 + b"\n",), "one JSON object"),
            ("broken UTF-8", (b'{"verb": "\xff\xfe"}\n',), "error"),
            ("no engine of that name", (b'{"verb": "restart", "engine": "nope"}\n',), "no engine 'nope'; configured: e"),
            ("wrong type", (b'{"verb": "canary.calibrate", "engine": "e", "calls": 7}\n',), "calls"),
            ("too many calls", (b'{"verb": "canary.calibrate", "engine": "e", "calls": {"chat": 1000000}}\n',), "1000"),
            ("wrong mode", (b'{"verb": "mode", "engine": "e", "to": "off"}\n',), "observe or enforce"),
            ("wrong variant", (b'{"verb": "canary.run", "engine": "e", "variant": "x"}\n',), "no variant")):
        answer = ask(*lines)
        check(what, word in answer and "error" in answer, answer.strip()[:200])
    check("too long", "longer than 64 KiB" in ask(b"x" * 70000))
    check("an end without a line", ask(b'{"verb": "ping"}') == "")
    check("several requests on one connection", ask(b'{"verb": "ping"}\n' * 3).count('"result"') == 3)
    for _ in range(100):  # clients that go away at once
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(SOCKET)
            client.sendall(b'{"verb": "canary.run", "engine": "e"}\n')
    held = []
    for _ in range(60):  # more than it serves at a time
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(5)
        client.connect(SOCKET)
        held.append(client)
    for client in held:
        client.close()
    wait("it still answers", lambda: '"result"' in ask(b'{"verb": "ping"}\n'))
    check("nothing was done", not actions() and sent() == 0)


def test_who_may_change_things():
    healthy()
    check("root may", fireboss("mode", "e", "observe").returncode == 0)
    told = as_user("stranger", "fireboss", "mode", "e", "enforce")
    check("a stranger does not even get there", told.returncode == 3 and "ermission" in told.stderr, told.stderr.strip())
    told = as_user("stranger", "fireboss", "mode", "e", "enforce", group="fireboss")
    check("one of the group may look", as_user("stranger", "fireboss", "status", group="fireboss").returncode in (0, 1, 2),
          as_user("stranger", "fireboss", "status", group="fireboss").stderr)
    check("and may not change anything", told.returncode == 3 and "may not change anything" in told.stderr
          and "control_users" in told.stderr, told.stderr.strip())
    check("nothing changed", status()["mode"] == "observe")
    text = open(CONFIG, encoding="utf-8").read()
    write(CONFIG, '[daemon]\ncontrol_users = ["stranger"]\n' + text)
    run("chown", "root:fireboss", CONFIG)
    run("systemctl", "restart", "firebossd")
    wait("up", lambda: '"result"' in ask(b'{"verb": "ping"}\n'))
    wait("listed: may", lambda: as_user("stranger", "fireboss", "mode", "e", "enforce", group="fireboss").returncode == 0)


def test_client_that_goes_away_in_a_restart():
    """The operator's terminal closes: the restart goes on to its end."""
    healthy()
    behave(start_delay=1.5)
    client = subprocess.Popen(["fireboss", "restart", "e"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait("sent", lambda: sent() == 1)
    client.kill()
    client.wait()
    check("clean", settled_action()["state"] == "clean")


def test_two_verbs_at_once():
    """Each is told what was decided on its own account."""
    healthy()
    behave(chat_delay=1, only_pid=main_pid())
    asked = len(requests(path="/v1/chat/completions"))
    asking = subprocess.Popen(["fireboss", "--json", "canary", "run", "e"], stdout=subprocess.PIPE, text=True)
    wait("asking", lambda: len(requests(path="/v1/chat/completions")) > asked)
    restarting = json.loads(fireboss("--json", "restart", "e").stdout)
    run_told = json.loads(asking.communicate(timeout=60)[0])
    told = [decision["decision"] for decision in restarting["decisions"]]
    check("the restart tells of itself", restarting["outcome"] == "clean" and "restart" in told, told)
    told = [decision["decision"] for decision in run_told["decisions"]]
    check("the run only of its result", told and "restart" not in told, told)


def test_watchdog_and_stop():
    """Fed for as long as the loop turns; a stopped process is systemd's to end, and the engine is left alone."""
    healthy()
    drop_in("[Service]\nWatchdogSec=2s\nRestartSec=100ms\n")
    run("systemctl", "restart", "firebossd")
    stays("fed", lambda: unit_property("NRestarts", "firebossd") == "0", 5)
    pid = unit_property("MainPID", "firebossd")
    run("kill", "-STOP", pid)
    wait("ended by its watchdog and started again", lambda: unit_property("NRestarts", "firebossd") == "1"
         and unit_property("ActiveState", "firebossd") == "active", 30)
    check("the engine was left alone", starts() == 1)
    begun = time.monotonic()
    run("systemctl", "stop", "firebossd")
    check("stops at once", time.monotonic() - begun < 3)
    check("with status 0", unit_property("ExecMainStatus", "firebossd") == "0")
    check("the engine was left alone", starts() == 1 and unit_property("ActiveState") == "active")


test_watchdog_and_stop.crashes_on_purpose = True

if __name__ == "__main__":
    main(globals())
