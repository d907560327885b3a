# SPDX-License-Identifier: Apache-2.0
"""fovea tune ended early from outside: by signals. What was proved stays.

usage: stops.py PROGRAM...      (PROGRAM... may begin with an emulator)
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, environment, finish, reseal, run  # noqa: E402

PROGRAM = sys.argv[1:]


def ok(*arguments, **more):
    result = run([*PROGRAM, *arguments], {"HOME": HOME, **more})
    check(result.returncode == 0, arguments, result.returncode, result.stderr)
    return result.stdout


def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def interrupt(path, number, classes, *options, listens=True):
    """Runs the tuner, sends a signal when it comes to another class for the nth time; what it said on stderr behind."""
    process = subprocess.Popen(PROGRAM + ["tune", "--output", path, *options], env=environment(HOME=HOME),
                               preexec_fn=default_signals, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = set()
    while len(seen) < classes and (line := process.stderr.readline()):
        seen.add(line.split()[2:4][-1])
    if not listens:  # nobody reads what it goes on to say
        process.stderr.close()
        process.stderr = None
    process.send_signal(number)
    _, error = process.communicate(timeout=300)
    check(process.returncode == 0, number, process.returncode, error)
    return error or ""


def prove(path, name):
    """Makes a class of a profile, which is the only one in it, one that was proved."""
    proved = " gain=1.200000 low=1.100000 high=1.300000 p=0.000061 pairs=15"
    reseal(path, lambda text: re.sub(r" gain=.*", proved, text))
    check(tuned_classes(path)[name]["gain"] == 1.2, "the profile that was made by hand")


def tuned_classes(path):
    return {c["class"]: c for c in json.loads(ok("tune", "--show", path, "--json"))["classes"] if c["tuned"]}


def test_at_once(folder):
    path = os.path.join(folder, "interrupted")
    error = interrupt(path, signal.SIGINT, 1)
    check("(interrupted)" in error, error)
    if "nothing is written" in error:  # nothing stands in the way of the next run
        check(not os.path.exists(path), error)
    else:
        check(json.loads(ok("tune", "--show", path, "--json"))["level"] == "estimate", "its level")


def test_proved(folder):
    """What was proved stays, also when nobody is there any more; what is added is proved, too."""
    path = os.path.join(folder, "proved")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ok("tune", "--level", "estimate", "--output", path, "--force", "--set", "heads-64.queries=32")
        prove(path, "heads-64")
        listens = number != signal.SIGHUP
        error = interrupt(path, number, 4, "--level", "quick", "--budget", "60", listens=listens)
        check("(interrupted)" in error or not listens, number, error)
        classes = tuned_classes(path)
        check("heads-64" in classes and classes["heads-64"]["queries"] == 32, number, "proved, and gone", classes)
        for c in classes.values():
            check(c["pairs"] > 0 and c["gain"] >= 1.0149 and c["p"] < 0.01, number, c)


with tempfile.TemporaryDirectory() as HOME, tempfile.TemporaryDirectory() as work:
    test_at_once(work)
    test_proved(work)
finish()
