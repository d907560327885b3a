# SPDX-License-Identifier: Apache-2.0
"""The manual page: it has every word of --help, and groff has nothing to say about it.

usage: man.py CLI_DIR PAGE PROGRAM...      (PROGRAM... may begin with an emulator)
"""
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, finish, run  # noqa: E402
from skips import skip_part  # noqa: E402

CLI, PAGE, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]
COLUMNS = 80
NOT_BUILT = "not built in"


def words_of(page):
    """The text of a page without what tells roff how to set it."""
    page = re.sub(r"^\.BI \"(.*)\" \"(.*)\"$", r"\1\2", page, flags=re.M)
    page = re.sub(r"^\.\w.*\n", "", page, flags=re.M).replace("\\&", "")
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(ha", "^"), ("\\e", "\\")):
        page = page.replace(escape, character)
    return page.split()


def helps():
    """Every help that has options of its own, by the file it lies in."""
    for path in sorted(pathlib.Path(CLI).glob("*.c")):
        for command in re.findall(r'help\[\] = "usage: fovea ([a-z0-9]+(?: (?:--)?[a-z0-9]+)*)', path.read_text()):
            if command != "run":  # a list of models
                yield path.stem, command.split()


def test_help(page):
    found = list(helps())
    places = re.findall(r"^@(\w+)@$", (pathlib.Path(CLI) / "fovea.1.in").read_text(), re.M)
    check(sorted(places) == [name for name, _ in found], places, found)
    text = " ".join(words_of(page))
    for name, command in found:
        result = run([*PROGRAM, *command, "--help"])
        if result.returncode == 2 and NOT_BUILT in result.stderr:
            continue
        check(result.returncode == 0 and result.stdout.startswith("usage: "), command, result)
        check(" ".join(result.stdout.split()[1:]) in text, name, "its words are in the page")
        for option in re.findall(r"^  (--?[a-z0-9-]+)", result.stdout, re.M):
            check(f'\n.TP\n.BI "{option}"'.replace("-", "\\-") in page, name, option)


def test_overview(page):
    """Every command and variable that fovea --help has, and the exit codes."""
    text = run([*PROGRAM, "--help"]).stdout
    commands = re.findall(r"^  (\w+) {2,}\w", text, re.M)
    variables = re.findall(r"FOVEA_\w+", text)
    check(len(commands) == 6 and len(variables) > 6, commands, variables)
    for name in [*commands, *variables]:
        check(f".B {name}\n" in page, name)
    status = page[page.index(".SH EXIT STATUS"):page.index(".SH EXAMPLES")]
    check(re.findall(r"\b\d\b", status) == ["0", "1", "2", "3"], "exit codes", status)


def test_groff():
    if not shutil.which("groff"):
        skip_part("cli_man", "groff", "Debian's groff-base is not there")
        return
    result = run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", f"-rLL={COLUMNS}n", PAGE])
    check(result.returncode == 0 and result.stderr == "", result.stderr)
    for line in result.stdout.splitlines():
        check(len(line) <= COLUMNS, "columns", line)


page = pathlib.Path(PAGE).read_text()
test_help(page)
test_overview(page)
test_groff()
finish()
