# SPDX-License-Identifier: Apache-2.0
"""Instructions are counted to the last one, the same every time and by every tool; fovea bench --count keeps them.

usage: count.py QEMU PLUGIN VALGRIND WAYS [PROGRAM]       (QEMU, VALGRIND: "" where they are not there)
"""
import json
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, read_json, run  # noqa: E402

QEMU, PLUGIN, VALGRIND, WAYS = sys.argv[1:5]
PROGRAM = sys.argv[5:]
CACHES = "32K,1M,32M,plain"  # each tool shows others, and plans depend on them
SUITES = {"gemm": "20x80x48", "attention": "(full|decode)/", "layer": "encoder"}


def in_qemu(*command):
    """What runs a command in qemu; an x86 CPU with AVX2, which is none that qemu has by default."""
    return [QEMU, *(["-cpu", "Haswell"] if "x86" in QEMU else []), "-plugin", PLUGIN, *command]


def callgrind(folder, *command):
    return [VALGRIND, "-q", "--tool=callgrind", f"--callgrind-out-file={folder}/out",
            "--toggle-collect=bench_callgrind_call", "--dump-after=bench_callgrind_call", *command]


def test_ways(folder):
    """Every tool gives the same figures for a loop, whose rounds all take the same."""
    loops = {}
    for way, command in (("steps", [WAYS]), ("qemu", in_qemu(WAYS)), ("callgrind", callgrind(folder, WAYS))):
        if way == "steps" and PROGRAM == [] or not command[0] or not shutil.which(command[0]):
            continue
        variables = {"FOVEA_CALLGRIND": folder} if way == "callgrind" else {}
        results = [run(command, variables), run(command, variables)]
        name, *counts = results[0].stdout.split()
        if way == "steps" and counts[0] == "0":
            print("steps: ptrace is not allowed here")
            continue
        one, two, three, product = map(int, counts)
        check(name == way and results[0].stdout == results[1].stdout, results)
        check(two - one == three - two and (two - one) % 1000 == 0 and product > 0, way, counts)
        loops[way] = (one, two, three)
        print(f"{way}: {one}, {two}, {three} instructions of the loops, {product} of the product")
    check(loops and len(set(loops.values())) == 1, loops)


def bench(suite, way, *arguments, **variables):
    command = [*PROGRAM, "bench", suite, "--shapes", "smoke", "--filter", SUITES[suite], "--count", way, *arguments]
    return run(in_qemu(*command) if way == "qemu" else command, {"FOVEA_CACHES": CACHES, **variables})


def test_suite(suite, way):
    results = [bench(suite, way, "--json") for _ in range(2)]
    lines = [read_json(result.stdout)["benchmarks"] for result in results]
    counts = [{line["name"]: line["instructions"] for line in side} for side in lines]
    check(len(counts[0]) >= 2 and counts[0] == counts[1] and min(counts[0].values()) > 1000, counts)
    check(all(line["real_time"] is None for line in lines[0]), "no times", lines[0])
    return counts[0]


def test_history(folder):
    """A series of its own, of nothing but instructions, named after ISA and tool."""
    db, odd = pathlib.Path(folder, "count.db"), pathlib.Path(folder, "a %p")  # which valgrind has a meaning for
    odd.mkdir()
    for commit in ("one", "two"):
        result = bench("gemm", "callgrind", "--history", db, "--commit", commit, TMPDIR=str(odd))
        check(result.returncode == 0 and result.stderr == "" and not list(odd.iterdir()), result)
    connection = sqlite3.connect(db)
    rows = connection.execute("SELECT benchmark, metric, name, count(*), max(median) - min(median) FROM point JOIN "
                              "series ON series.id = series JOIN machine ON machine.id = machine GROUP BY series")
    rows = rows.fetchall()
    connection.close()
    check(len(rows) == 3 and all(row[1:] == ("instructions", "avx2 in callgrind", 2, 0) for row in rows), rows)


def main():
    with tempfile.TemporaryDirectory() as folder:
        test_ways(folder)
        if not PROGRAM:
            return
        for suite in SUITES:
            counts = {way: test_suite(suite, way) for way, tool in (("qemu", QEMU), ("callgrind", VALGRIND)) if tool}
            print(json.dumps({suite: counts}, indent=1))
            if len(counts) == 2:  # where operands lie in memory differs a little
                check(all(abs(counts["qemu"][name] / count - 1) < 0.01 for name, count in counts["callgrind"].items()))
        if VALGRIND:
            test_history(folder)
    suite = [*PROGRAM, "bench", "gemm", "--shapes", "smoke"]
    check_refused(run([*suite, "--count", "qemu"]), "-plugin libfovea_count.so")
    check_refused(run([*suite, "--count", "fingers"]), "callgrind, qemu or steps")
    check_refused(run([*suite, "--count", "steps", "--peers"]), "against time")
    for heeds in signal.SIG_DFL, signal.SIG_IGN:
        check_refused(run([*suite, "--count", "callgrind"], {"PATH": "/nonexistent"},
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, heeds)), "wants valgrind")
    check_refused(run([*suite, "--count", "steps", "--threads", "2"]), "counts one thread")
    check_refused(run([*suite, "--instructions", "--threads", "2"]), "--instructions counts one thread")


main()
finish()
