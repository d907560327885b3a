# SPDX-License-Identifier: Apache-2.0
"""A setting that means nothing is told once on stderr and left out; the others stand, and an engine computes.

FOVEA_VERBOSE says how many threads there are.

usage: settings.py COMMAND...
"""
import os
import re
import subprocess
import sys

SETTINGS = ("FOVEA_CACHES", "FOVEA_ISA", "FOVEA_PIN", "FOVEA_EXCLUDE")


def run(command, settings):
    env = {name: value for name, value in os.environ.items() if not name.startswith("FOVEA_")}
    return subprocess.run(command, env={**env, **settings}, capture_output=True, text=True)


def problems(command, bad, good):
    done = run(command, {**dict.fromkeys(bad, "nonsense"), **good, "FOVEA_VERBOSE": "1"})
    told = [line for line in done.stderr.splitlines() if line.startswith("fovea: ")]
    if done.returncode or done.stdout.strip() != "4 5 10 11":
        yield f"exit status {done.returncode}: {done.stdout}"
    for name in bad:
        if sum(re.match(rf"fovea: {name}\b.*\bnonsense", line) is not None for line in told) != 1:
            yield f"{name} is not told once"
    if len(told) != len(bad) or not all(line.endswith("; it is ignored") for line in told):
        yield "other lines"
    if not re.search(rf"^fovea \S+: .*gemm kernel \w+{'_scalar' if 'FOVEA_ISA' in good else ''};", done.stderr, re.M):
        yield "no engine, or one without the good settings"
    if found := done.stderr.strip():
        print(f"{bad} {good}:\n{found}")


def thread_problems(command):
    """What FOVEA_NUM_THREADS asks for, and what FOVEA_VERBOSE tells: 0 nothing, 2 of each product, too."""
    product = re.compile(r"fovea: [nt]+ \d+x\d+x\d+, lda \d+, ldb \d+, ldc \d+, alpha 1, beta 0: "
                         r"\d+\.\d\d us")
    for asked, has in (("", "1 worker"), ("3", "3 workers"), ("1000", "64 workers")):
        for verbose in ("1", "2", "yes", "0", ""):
            told = run(command, {"FOVEA_NUM_THREADS": asked, "FOVEA_VERBOSE": verbose}).stderr.splitlines()
            wanted = (["FOVEA_NUM_THREADS=1000 is more than 64"] if asked == "1000" else []) + \
                ([f"; for {has};"] if verbose not in ("0", "") else [])
            products = sum(product.fullmatch(line) is not None for line in told)
            if len(told) != len(wanted) + products or (products > 0) != (verbose == "2") or \
                    not all(any(words in line for line in told) for words in wanted):
                yield f"FOVEA_NUM_THREADS={asked} FOVEA_VERBOSE={verbose}: {told}"


def main():
    scalar = {"FOVEA_ISA": "scalar"}
    cases = [((), {}), ((), scalar), *(((name,), {}) for name in SETTINGS), (SETTINGS[:1], scalar),
             (("FOVEA_CACHES", "FOVEA_PIN"), scalar), (SETTINGS, {})]
    found = [f"{bad} {good}: {problem}" for bad, good in cases for problem in problems(sys.argv[1:], bad, good)]
    found += thread_problems(sys.argv[1:])
    print("\n".join(found))
    print(f"{len(cases)} environments, {len(found)} problems")
    sys.exit(bool(found))


main()
