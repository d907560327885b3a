# SPDX-License-Identifier: Apache-2.0
"""fovea bench ended early: by signals, and by a reader that goes away. What was measured stays.

usage: stops.py PROGRAM...
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, environment, finish, read_json, run  # noqa: E402

PROGRAM = sys.argv[1:]
SMOKE = ["bench", "gemm", "--shapes", "smoke", "--min-time", "0.2"]
CACHES = "32K,256K,1M"  # what comes from memory is six times the last of them
ENDED = r"fovea: bench: ended after (\d+) of (\d+) lines\n"


def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def stop(wanted, act, *options, suite=None, **variables):
    """Runs the set, and acts when stdout has these letters: the process that ended, its stdout and its stderr."""
    process = subprocess.Popen([*PROGRAM, *(suite or SMOKE), *map(str, options)],
                               env=environment(FOVEA_CACHES=CACHES, **variables),
                               preexec_fn=default_signals, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = ""
    while wanted not in seen and (line := process.stdout.readline()):
        seen += line
    act(process)
    if not process.stdout.closed:
        seen += process.stdout.read()
    error = process.stderr.read()
    process.wait()
    return process, seen, error


def lines_of(error, *what):
    """How many lines were measured, from what was said: not all."""
    said = re.search(ENDED, error)
    if not check(said and 0 < int(said[1]) < int(said[2]), what, error):
        return 0
    return int(said[1])


def test_picture(folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        picture = folder / f"{number}.svg"
        process, out, error = stop("\ngemm/f32/", lambda p: p.send_signal(number), "--report", picture)
        count = lines_of(error, number)
        check(process.returncode == -number and "ends after this line" in error, number, process.returncode, error)
        check(out.count("\ngemm/f32/") == count == picture.read_text().count('<g class="line '), number, out)


def test_json(folder):
    process, out, error = stop('"name"', lambda p: p.send_signal(signal.SIGINT), "--json")
    check(process.returncode == -signal.SIGINT, process.returncode)
    check(len(read_json(out)["benchmarks"]) == lines_of(error, "JSON"), out)
    process, out, error = stop("{", lambda p: p.send_signal(signal.SIGINT), suite=["bench", "tune", "--json"],
                               FOVEA_PROFILE="none")
    check(process.returncode in (0, -signal.SIGINT) and read_json(out), process.returncode, out, error)


def test_history(folder):
    kept = folder / "kept.db"
    later = lambda p: (time.sleep(1), p.send_signal(signal.SIGINT))  # noqa: E731
    process, out, error = stop("", later, "--history", kept, "--commit", "a", "--report", folder / "kept.svg")
    check(process.returncode == -signal.SIGINT and not out and not kept.exists(), process.returncode, out, error)
    check("ended" not in error or "nothing is kept of a run that was stopped" in error, error)


def test_reader(folder):
    picture = folder / "reader.html"
    process, _, error = stop("\ngemm/f32/", lambda p: p.stdout.close(), "--report", picture)
    check(process.returncode == 2 and "cannot write to standard output" in error, process.returncode, error)
    check(lines_of(error, "reader") == picture.read_text().count('<g class="line '), error)
    with open("/dev/full", "w") as full:
        result = subprocess.run([*PROGRAM, *SMOKE], env=environment(FOVEA_CACHES=CACHES), stdout=full,
                                stderr=subprocess.PIPE, text=True)
    check(result.returncode == 2 and lines_of(result.stderr, "full") == 1, result)


def test_callgrind(folder):
    """What it leaves in TMPDIR is removed, also when it does not come to an end. This one only waits."""
    (folder / "valgrind").write_text("#!/bin/sh\necho here\nexec sleep 100\n")
    (folder / "valgrind").chmod(0o755)
    (folder / "tmp").mkdir()
    process, _, error = stop("here", lambda p: p.send_signal(signal.SIGTERM), "--count", "callgrind",
                             PATH=f"{folder}:{os.environ['PATH']}", TMPDIR=str(folder / "tmp"))
    check(process.returncode == -signal.SIGTERM and error == "", process.returncode, error)
    check(not list((folder / "tmp").iterdir()), "callgrind's folder is left")


def test_nothing_to_keep():
    process, _, error = stop("\ngemm/f32/", lambda p: p.send_signal(signal.SIGINT))
    check(process.returncode == -signal.SIGINT and error == "", process.returncode, error)


def test_list(folder):
    for option in (["--report", folder / "l.svg"], ["--count", "steps"], ["--json"], ["--history", folder / "h"]):
        result = run([*PROGRAM, *SMOKE, "--list", *option])
        check(result.returncode == 2 and f"{option[0]} wants results" in result.stderr and not result.stdout, result)


with tempfile.TemporaryDirectory() as work:
    test_picture(pathlib.Path(work))
    test_json(pathlib.Path(work))
    test_history(pathlib.Path(work))
    test_reader(pathlib.Path(work))
    test_callgrind(pathlib.Path(work))
    test_nothing_to_keep()
    test_list(pathlib.Path(work))
finish()
