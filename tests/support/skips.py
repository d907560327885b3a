# SPDX-License-Identifier: Apache-2.0
"""How a test in Python leaves something out."""
import fnmatch
import pathlib
import sys

SKIP = 77


def skip_part(test, name, reason):
    """Leaves out a part of a test, which tests/skips.txt must allow."""
    for line in (pathlib.Path(__file__).parent.parent / "skips.txt").read_text().splitlines():
        listed, glob = line.split()[:2]
        if listed == test and fnmatch.fnmatch(name, glob):
            print(f"skip: {test} {name}: {reason}")
            return
    sys.exit(f"FAIL {test} {name} skipped, and tests/skips.txt gives no reason: {reason}")


def skip(test, name, reason):
    """The same for a whole test: ends with the status of a skip."""
    skip_part(test, name, reason)
    sys.exit(SKIP)
