# SPDX-License-Identifier: Apache-2.0
"""What the tests in Python share: checks that count, and programs run without the caller's settings."""
import json
import os
import subprocess
import sys

passed = failed = 0


def check(condition, *what):
    """Counts a check; a failure says where, and what. Returns condition."""
    global passed, failed
    if condition:
        passed += 1
    else:
        failed += 1
        print("FAIL", f"line {sys._getframe(1).f_lineno}:", *what)
    return condition


def environment(**more):
    """The caller's, without the variables and folders (XDG_CONFIG_HOME) that would change the program."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(("FOVEA_", "XDG_"))}, **more}


def run(command, variables=None, **more):
    """Runs a command and keeps what it prints, as text."""
    return subprocess.run([str(part) for part in command], env=environment(**(variables or {})), capture_output=True,
                          text=True, **more)


def read_json(text):
    """JSON as its standard has it: without NaN and Infinity, which Python reads."""
    return json.loads(text, parse_constant=lambda name: check(False, name, "is no JSON"))


def check_refused(result, must_say, output=""):
    """A command that ends with 2 and one line on stderr that says why."""
    lines = result.stderr.splitlines()
    check(result.returncode == 2 and len(lines) == 1 and lines[0].startswith("fovea: ") and must_say in lines[0] and
          result.stdout == output, must_say, result)


def reseal(path, edit):
    """Replaces the lines of a profile by what `edit` makes of them, with the checksum that they have then."""
    with open(path) as file:
        text = edit(file.read().partition("checksum ")[0])
    total = 0xcbf29ce484222325
    for byte in text.encode():
        total = (total ^ byte) * 0x100000001b3 % 2**64
    with open(path, "w") as file:
        file.write(f"{text}checksum {total:016x}\n")


def finish():
    """The closing line, and the exit status."""
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0 or passed == 0)
