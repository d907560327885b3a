# SPDX-License-Identifier: Apache-2.0
"""Running programs of others in front of which libfovea_cblas is preloaded."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from skips import skip  # noqa: E402, F401: callers have it from here


def environment(library, **more):
    return {**os.environ, "LD_PRELOAD": library, **more}


def bound(command, library, log, **options):
    """Runs a command; returns what it did and the symbols that the dynamic linker bound to the library."""
    env = environment(library, LD_DEBUG="bindings", LD_DEBUG_OUTPUT=str(log), **options.pop("env", {}))
    done = subprocess.run(command, env=env, capture_output=True, text=True, **options)
    text = "".join(path.read_text(errors="replace") for path in pathlib.Path(log.parent).glob(log.name + ".*"))
    pattern = rf"binding file (\S+) \[0\] to {re.escape(library)} \[0\]: normal symbol `(\w+)'"
    return done, set(re.findall(pattern, text))
