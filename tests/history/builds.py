# SPDX-License-Identifier: Apache-2.0
"""fovea history compare --lib: a build against itself, and against one whose GEMM kernels are a tenth slower.

usage: builds.py PROGRAM NORMAL.so SLOW.so
"""
import json
import os
import pathlib
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, finish, run  # noqa: E402

PROGRAM, NORMAL, SLOW = sys.argv[1:4]
SECONDS = "0.3" if os.environ.get("FOVEA_TEST_SMALL") else "1"


def compare(*arguments):
    return run([PROGRAM, "history", "compare", "--lib", *arguments])


def report(*arguments):
    started = time.monotonic()
    result = compare("--json", "--effect", "4%", "--seconds", SECONDS, *arguments)
    check(result.returncode in (0, 1), result)
    cases = {case["benchmark"]: case for case in json.loads(result.stdout)["cases"]}
    for name, case in cases.items():
        print(f"{name:36} {case['ratio']:.3f} ({case['low']:.3f}-{case['high']:.3f}) {case['pairs']} pairs")
        check(case["same_bits"] and 0 < case["low"] <= case["ratio"] <= case["high"], case)
    print(f"{time.monotonic() - started:.1f} s")
    return result.returncode, cases


def main():
    # A slower kernel is seen within a minute, in all that is made of it, and nothing else is blamed.
    code, cases = report(NORMAL, SLOW)
    check(code == 1, code)
    gemm = [case for name, case in cases.items() if name.startswith("gemm/") and "/1x" not in name]
    check(len(gemm) == 5 and sum(case["verdict"] == -1 for case in gemm) >= 4, gemm)
    check(all(case["verdict"] == 0 for name, case in cases.items() if name.startswith("rowwise/")), cases)
    # The same the other way round is an improvement.
    code, cases = report(SLOW, NORMAL, "--filter", "gemm/packed/nt/128")
    check(code == 0 and cases["gemm/packed/nt/128x768x768"]["verdict"] == 1, cases)
    # A build against itself.
    code, cases = report(NORMAL, NORMAL)
    check(code == 0 and all(case["verdict"] == 0 for case in cases.values()), cases)

    text = compare(NORMAL, SLOW, "--filter", "gemm/plain/nt", "--seconds", "0.1")
    check(text.returncode in (0, 1) and "1 of 1 benchmarks measured" in text.stdout, text)
    with tempfile.NamedTemporaryFile(suffix=".so") as empty:
        for arguments, says in (((NORMAL, "nonesuch.so"), "No such file"), ((empty.name, NORMAL), "file too short"),
                                ((NORMAL, "libm.so.6"), "No such file"), ((NORMAL,), "wants two"),
                                ((NORMAL, SLOW, "--filter", "nonesuch"), "no benchmark matches"),
                                ((NORMAL, SLOW, "--filter", "("), "no regular expression")):
            result = compare(*arguments)
            check(result.returncode == 2 and len(result.stderr.splitlines()) == 1 and says in result.stderr, result)


main()
finish()
