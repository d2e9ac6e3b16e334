"""Each kind of wrong configuration: exit status 78, the place and what to do in the log, and no restart loop."""
from stage import *  # noqa: F403

GOOD = engine_config()


def refused(what, text, *said):
    """firebossd ends with 78, says all of `said`, and systemd leaves it at that."""
    if text is not None:
        write(CONFIG, text)
    mark = time.time()
    run("systemctl", "reset-failed", "firebossd", ok=None)
    start_firebossd(ok=(1,))
    check(f"{what}: exit status", unit_property("ExecMainStatus", "firebossd") == "78",
          unit_property("ExecMainStatus", "firebossd"))
    log = journal("firebossd", f"--since=@{mark:.3f}")
    for words in said:
        check(f"{what}: says", words in log, words if words in log else log)
    check(f"{what}: not started again", unit_property("NRestarts", "firebossd") == "0"
          and unit_property("ActiveState", "firebossd") == "failed")


def test_wrong_configurations():
    configure(GOOD)
    scripted_unit(run_now=False)
    refused("syntax", "[engine.e\n", f"{CONFIG}:1:")
    refused("unknown key", GOOD.replace("[engine.e.canary]", "[engine.e.canary]\nevry = \"1m\""), "evry", "every")
    refused("unknown table", GOOD + "\n[engines]\n", "engines")
    refused("wrong type", GOOD.replace("port = 8080", 'port = "8080"'), ":4:", "port")
    refused("out of range", GOOD.replace("port = 8080", "port = 80800"), "port", "65535")
    refused("no unit of time", GOOD.replace('drain = "1s"', 'drain = "1"'), "drain")
    refused("no unit", GOOD.replace('unit = "scripted.service"\n', ""), "unit")
    refused("several at once", GOOD.replace("port = 8080", "port = 0").replace('"1s"', '"soon"'), "port", "soon", "2 error")
    refused("prompt file missing", GOOD.replace('system_prompt = "You are a helpful assistant."',
                                                'system_prompt_file = "prompts/none.md"'),
            "/etc/fireboss/prompts/none.md", "No such file")
    refused("tools are no JSON", GOOD.replace("[engine.e.suite]", "[engine.e.suite]\ntools = \"[{\""), "tools")
    refused("unknown variant", GOOD.replace('["chat"]', '["chatt"]'), "chatt")
    refused("k above n", GOOD.replace("k = 2", "k = 5"), "k = 5")
    refused("two engines, one unit", GOOD + GOOD.replace("engine.e", "engine.f"), UNIT)
    refused("unknown user", "[daemon]\ncontrol_users = [\"nobody-of-that-name\"]\n" + GOOD, f"{CONFIG}:2:17:",
            "no user 'nobody-of-that-name'")
    check("unknown user: told before the record is opened", not os.path.exists(DB))
    refused("socket path too long", f"[daemon]\ncontrol_socket = \"/run/fireboss/{'x' * 120}\"\n" + GOOD, "107")
    refused("not text", GOOD + "# \x00", CONFIG)
    os.unlink(CONFIG)
    refused("missing", None, CONFIG, "No such file")
    write(CONFIG, GOOD, mode=0o600)
    refused("unreadable", None, CONFIG, "Permission denied")
    os.unlink(CONFIG)
    os.mkdir(CONFIG)
    refused("a folder", None, CONFIG)
    os.rmdir(CONFIG)
    write(CONFIG, GOOD)
    os.symlink("/dev/zero", "/etc/fireboss/conf.d/zero.toml")
    refused("no regular file", None, "zero.toml")
    os.unlink("/etc/fireboss/conf.d/zero.toml")
    drop_in("[Service]\nExecStart=\nExecStart=/usr/bin/firebossd --cofnig /etc/fireboss/fireboss.toml\n", name="option")
    refused("unknown option", None, "--cofnig")
    drop_in("[Service]\nExecStart=\nExecStart=/usr/bin/firebossd --config\n", name="option")
    refused("option without its value", None, "--config")
    os.unlink("/etc/systemd/system/firebossd.service.d/option.conf")
    run("systemctl", "daemon-reload")
    check("nobody touched the engine", starts() == 0)
    run("systemctl", "reset-failed", "firebossd")
    start_firebossd()
    check("right again", unit_property("ActiveState", "firebossd") == "active")


def test_unit_that_does_not_exist():
    """A unit that is not installed yet is no mistake in the file: firebossd waits, and says so."""
    configure(GOOD.replace(UNIT, "not-yet.service"))
    start_firebossd()
    wait("status tells", lambda: status()["answers"])
    stays("firebossd runs", lambda: unit_property("ActiveState", "firebossd") == "active", 1)
    scripted_unit(unit="not-yet.service")
    wait("found once it is there", passed, 30)


def test_container_client_is_told():
    """`docker run` in a unit: its engine would be found on a port that is somebody else's. Said once, at the start."""
    words = f"engine 'e': {UNIT} runs `docker`, whose containers are outside of the unit's control group"
    write("/run/test/docker", "#!/bin/sh\nexec /usr/bin/sleep infinity\n", mode=0o755)
    write(f"/etc/systemd/system/{UNIT}", "[Service]\nExecStart=/run/test/docker run --rm image\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", UNIT)
    configure(GOOD)
    start_firebossd()
    wait("the log says it", lambda: words in journal())
    run("systemctl", "restart", UNIT)
    wait("the new life is seen", lambda: status()["life"] == life())
    check("once", journal().count(words) == 1)
    write(CONFIG, GOOD.replace(f"port = {PORT}", f'port = {PORT}\nlistener = "any"'))
    mark = time.time()
    run("systemctl", "restart", "firebossd")
    wait("it watches again", lambda: f"e: {UNIT} is running" in journal("firebossd", f"--since=@{mark:.3f}"))
    check("nothing to say once nobody asks who listens", words not in journal("firebossd", f"--since=@{mark:.3f}"))


def test_no_engine_is_a_warning():
    """A fresh installation: firebossd runs and says that it watches nothing."""
    configure("[daemon]\n")
    start_firebossd()
    wait("told", lambda: "no engine is configured" in journal())
    check("status is not green", fireboss("status", ok=(1, 2, 3)).returncode != 0)


def test_check_config_and_polkit_rule_agree():
    configure(GOOD)
    check("check-config is content", fireboss("check-config").returncode == 0)
    rule = fireboss("polkit-rule").stdout
    check("the rule names the unit and the user, no wildcard", UNIT in rule and "fireboss" in rule and "*" not in
          rule.replace("/*", "").replace("*/", ""), rule)


if __name__ == "__main__":
    main(globals())
