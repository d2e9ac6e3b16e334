"""The record locked, full, newer, altered, corrupt, unwritable, or somebody else's: nothing lost, nobody restarted."""
import contextlib

from stage import *  # noqa: F403


@contextlib.contextmanager
def locked():
    """Another process holds the write lock."""
    db = sqlite3.connect(DB, timeout=10, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


def gives_up(status, *said):
    mark = time.time()
    run("systemctl", "reset-failed", "firebossd", ok=None)
    start_firebossd(ok=(1,))
    check("exit status", unit_property("ExecMainStatus", "firebossd") == str(status),
          unit_property("ExecMainStatus", "firebossd"))
    log = journal("firebossd", f"--since=@{mark:.3f}")
    for words in said:
        check("says", words in log, words if words in log else log)
    if status == 78:
        check("not started again", unit_property("ActiveState", "firebossd") == "failed")
    run("systemctl", "stop", "firebossd")


def broken_record(test):
    test.broken_record = True
    return test


def history():
    """A database with a short history, and no firebossd."""
    healthy()
    run("systemctl", "stop", "firebossd")


def test_locked_before_the_start():
    history()
    drop_in("[Service]\nRestartSec=300ms\n")
    with locked():
        run("systemctl", "start", "--no-block", "firebossd")
        wait("told", lambda: "locked" in journal())
        stays("tried again, not given up for good", lambda: unit_property("ActiveState", "firebossd") != "failed"
              and starts() == 1, 3)
    mark = last_event()
    wait("comes up by itself", lambda: unit_property("ActiveState", "firebossd") == "active", 30)
    wait("and goes on", lambda: events("daemon_started", mark))
    check("engine left alone", starts() == 1 and sent() == 0)


def test_locked_in_the_middle_of_a_restart():
    """What cannot be recorded is not begun: no job while the lock lasts, nothing lost, fresh evidence decides anew."""
    healthy(more='adapter = "none"', restart="budget = 10", drain="60s")
    behave(chat="wrong", only_pid=main_pid())
    import socket
    with contextlib.ExitStack() as stack:
        in_flight = stack.enter_context(socket.create_connection(("127.0.0.1", PORT)))
        canary(ok=(2,))
        wait("draining", lambda: actions() and actions()[0]["step"] == "drain")
        with locked():
            in_flight.close()  # drained
            wait("told", lambda: "cannot record" in journal())
            stays("nothing is sent", lambda: sent() == 0 and starts() == 1, 4)
            check("firebossd lives", unit_property("ActiveState", "firebossd") == "active")
    wait("recorded again", lambda: "being written again" in journal(), 60)
    check("the trouble is in the record", [e["what"] for e in events("own_fault")][:1] == ["database_locked"], events("own_fault"))
    wait("in the end restarted, by fresh evidence", lambda: [a for a in actions() if a["state"] == "clean"], 60)
    check("one job", sent() == 1 and starts() == 2, (sent(), starts()))
    check("its alert is over", not alerts("own_fault%", only_open=True))


def test_locked_once_the_job_was_sent():
    """It is followed to its end all the same, and recorded as soon as that is possible."""
    healthy()
    behave(chat="wrong", only_pid=main_pid(), start_delay=2)
    canary(ok=(2,))
    wait("sent", lambda: sent() == 1)
    with locked():
        wait("the engine is up again", lambda: starts() == 2 and unit_property("ActiveState") == "active", 30)
        stays("engine left alone", lambda: starts() == 2, 2)
    action = settled_action(seconds=60)
    check("clean", action["state"] == "clean", action)
    check("one job", sent() == 1 and starts() == 2)


def small_disk():
    """The record's folder on a disk of 1 MB."""
    os.makedirs("/var/lib/fireboss", exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=1M,mode=0750", "tmpfs", "/var/lib/fireboss")


def fill(leave):
    """All but `leave` bytes of it."""
    free = os.statvfs("/var/lib/fireboss")
    size = free.f_bavail * free.f_bsize - leave
    with open("/var/lib/fireboss/filler", "wb") as file:
        file.write(b"x" * max(size, 0))


def test_full_disk_in_the_middle():
    small_disk()
    healthy(restart="budget = 10")
    fill(0)
    behave(chat="wrong", only_pid=main_pid())
    canary(ok=(2,))
    # What the log still has room for is recorded; sooner or later there is none.
    for _ in range(20):
        if "cannot record" in journal():
            break
        canary(ok=(0, 2, 3))
    wait("told", lambda: "cannot record" in journal() and "full" in journal())
    told = fireboss("status", ok=(2,)).stdout
    check("status does not show the old record as what is", "CANNOT RECORD" in told and "full" in told, told)
    jobs = sent()
    stays("nothing is begun", lambda: sent() == jobs and unit_property("ActiveState", "firebossd") == "active", 3)
    os.unlink("/var/lib/fireboss/filler")
    wait("recorded again", lambda: "being written again" in journal(), 60)
    check("the trouble is in the record", "disk_full" in [e["what"] for e in events("own_fault")], events("own_fault"))
    wait("restarted by fresh evidence", lambda: [a for a in actions() if a["state"] == "clean"], 60)
    check("one job in all", sent() == 1 and starts() == 2, (sent(), starts()))


def test_full_disk_at_the_start():
    small_disk()
    fill(8192)
    configure(engine_config())
    scripted_unit()
    drop_in("[Service]\nRestartSec=300ms\n")
    start_firebossd(ok=(1,))
    wait("told", lambda: "full" in journal())
    check("engine left alone", starts() == 1)
    os.unlink("/var/lib/fireboss/filler")
    wait("comes up by itself", lambda: unit_property("ActiveState", "firebossd") == "active", 30)
    wait("asked and passed", passed)


@broken_record
def test_newer():
    history()
    with sqlite3.connect(DB) as db:
        newest = db.execute("SELECT max(version) FROM migration").fetchone()[0]
        db.execute("INSERT INTO migration SELECT version + 1, 'from the future', checksum, schema, applied "
                   "FROM migration WHERE version = ?", (newest,))
    gives_up(78, "newer", DB)
    check("engine left alone", starts() == 1 and sent() == 0)
    check("status says so too", "newer" in fireboss("status", ok=(3,)).stderr)


def test_restored():
    """An old copy of the record comes back: it is noticed, told, and nothing acts before a full canary."""
    healthy()
    run("systemctl", "stop", "firebossd")
    with contextlib.closing(sqlite3.connect(DB)) as db, contextlib.closing(sqlite3.connect("/tmp/old.db")) as old:
        db.backup(old)
    start_firebossd()
    wait("goes on", lambda: len(events("daemon_started")) == 2)
    check("not taken for restored", not events("daemon_started")[-1]["restored"])
    canary(ok=(0,))
    run("systemctl", "stop", "firebossd")
    for suffix in ("-wal", "-shm"):
        if os.path.exists(DB + suffix):
            os.unlink(DB + suffix)
    shutil.copy("/tmp/old.db", DB + ".restored")
    run("chown", "fireboss:fireboss", DB + ".restored")
    os.rename(DB + ".restored", DB)
    behave(chat="wrong", only_pid=main_pid())
    start_firebossd()
    wait("noticed", lambda: events("daemon_started") and events("daemon_started")[-1]["restored"])
    check("told", "nothing acts before a full canary" in journal())
    # The full canary is due at once, finds the wrong answers, and then the engine is restarted.
    wait("alerted, and over once asked", lambda: alerts("own_fault/restored")
         and not alerts("own_fault/restored", only_open=True))
    wait("restarted", lambda: [a for a in actions() if a["state"] == "clean"])
    check("one job in all", sent() == 1 and starts() == 2, (sent(), starts()))
    run("systemctl", "restart", "firebossd")
    wait("its own again", lambda: not events("daemon_started")[-1]["restored"])


@broken_record
def test_altered():
    history()
    with sqlite3.connect(DB) as db:
        db.execute("ALTER TABLE event ADD COLUMN note TEXT")
    gives_up(78, "altered", DB, ".bak-")
    check("engine left alone", starts() == 1)


@broken_record
def test_corrupt():
    history()
    with sqlite3.connect(DB) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(DB, "r+b") as file:
        file.seek(0)
        file.write(b"not a database at all, but long enough to be one......")
    gives_up(78, DB)
    check("engine left alone", starts() == 1)
    check("status is unknown, with a reason", DB in fireboss("status", ok=(3,)).stderr)


@broken_record
def test_corrupt_inside():
    """Page rot below the header: found at the latest when it is read, and never a crash."""
    history()
    with sqlite3.connect(DB) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = os.path.getsize(DB)
    with open(DB, "r+b") as file:
        for page in range(1, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 512)
    gives_up(78, DB)
    check("engine left alone", starts() == 1)


@broken_record
def test_corrupt_state():
    """The view from which firebossd takes up its work is rubbish: refused by name, not guessed."""
    history()
    with sqlite3.connect(DB) as db:
        db.execute("UPDATE state SET json = '{\"now\": \"yesterday\"}'")
    gives_up(78, "engine 'e'", "state")
    check("engine left alone", starts() == 1)


def test_unwritable():
    history()
    run("chown", "root:root", DB)
    os.chmod(DB, 0o644)
    gives_up(78, DB)
    run("chown", "fireboss:fireboss", DB)
    os.chmod(DB, 0o640)
    os.rename(DB, "/var/lib/fireboss/aside")
    os.mkdir(DB)
    gives_up(78, DB)
    os.rmdir(DB)
    os.rename("/var/lib/fireboss/aside", DB)
    check("engine left alone", starts() == 1)
    start_firebossd()


def second(*more):
    """A firebossd by hand, as the same user."""
    return run("setpriv", "--reuid=fireboss", "--regid=fireboss", "--init-groups", "--reset-env",
               "/usr/bin/firebossd", *more, ok=None, seconds=20)


def test_second_firebossd():
    healthy()
    first = unit_property("MainPID", "firebossd")
    done = second()
    check("refused", done.returncode == 1, done.returncode)
    check("names the first", f"pid {first}" in done.stderr and DB in done.stderr, done.stderr.strip())
    other = engine_config() .join(['[daemon]\ndatabase = "/tmp/other.db"\ncontrol_socket = "/tmp/other.sock"\n', ""])
    write("/tmp/other.toml", other)
    done = second("--config", "/tmp/other.toml")
    check("another database, the same unit: refused", done.returncode == 1 and f"pid {first}" in done.stderr
          and UNIT in done.stderr, done.stderr.strip())
    check("the first goes on", unit_property("MainPID", "firebossd") == first and canary(ok=(0,)).returncode == 0)


def test_killed_while_writing():
    """kill -9 again and again: the record stays whole and complete."""
    healthy()
    drop_in("[Service]\nRestartSec=50ms\n")
    for _ in range(8):
        before = last_event()
        run("systemctl", "kill", "--signal=KILL", "firebossd")
        wait("back", lambda: events("daemon_started", before))
    check("engine left alone", starts() == 1 and sent() == 0 and not actions())
    with sqlite3.connect(DB) as db:
        check("whole", db.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


if __name__ == "__main__":
    main(globals())
