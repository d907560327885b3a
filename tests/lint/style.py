# SPDX-License-Identifier: Apache-2.0
"""What every source file must look like: SPDX first, its own path and purpose second, at most 120 columns and 400
lines, no tabs, no trailing blanks, a final newline, nothing switched off, nothing left to do. Of pages, prose has at
most 120 columns, and a row of a table is a line of its own.

usage: style.py SOURCE_DIR
"""
import pathlib
import re
import sys

FOLDERS = ("adapters", "bench", "cblas", "cli", "cmake", "dispatch", "examples", "history", "include", "kernels", "nn",
           "ops", "scripts", "tests", "tune")
SUFFIXES = {".c": "//", ".cc": "//", ".h": "//", ".inc": "//", ".def": "//", ".js": "//", ".mjs": "//",
            ".css": "/*", ".py": "#", ".sh": "#", ".cmake": "#"}
LINES_MAX, COLUMNS_MAX = 400, 120


def problems(name, path):
    text = path.read_text()
    lines = text.split("\n")
    comment = SUFFIXES[path.suffix]
    head = [line.removesuffix(" */") for line in lines[:3] if not line.startswith("#!")]
    if head[0] != f"{comment} SPDX-License-Identifier: Apache-2.0":
        yield "the first line is not the SPDX line"
    purpose = rf"{re.escape(comment)} {re.escape(name.removeprefix('include/'))} - \S"
    if comment != "#" and not re.match(purpose, head[1]):
        yield f'the second line is not "{comment} {name} - purpose"'
    if len(lines) > LINES_MAX:
        yield f"{len(lines)} lines; a file is one idea of about 200"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield "must end in one newline"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield f"line {number}: {len(line)} columns"
        if "\t" in line or line.rstrip() != line:
            yield f"line {number}: a tab or a trailing blank"
        if re.match(r"\s*#if 0\b", line) or re.search(r"\b(TODO|FIXME|XXX)\b", line) and "lint" not in name:
            yield f"line {number}: switched off or left to do"


def page_problems(path):
    code = False
    for number, line in enumerate(path.read_text().split("\n"), 1):
        code ^= line.lstrip().startswith("```")
        row = re.match(r"\s*\|", line)
        if code or line.startswith("    "):
            continue
        if re.search(r"\| \|:?---|\|---.*\| \S", line) or row and not line.endswith("|"):
            yield f"line {number}: rows of a table share a line, or one has no end"
        if not row and len(line) > COLUMNS_MAX and " " in line.strip() and "<img" not in line:
            yield f"line {number}: {len(line)} columns"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in SUFFIXES]
    found = [f"{path.relative_to(root)}: {problem}" for path in files
             for problem in problems(path.relative_to(root).as_posix(), path)]
    pages = [path for place in ("*.md", "docs/**/*.md", "examples/**/*.md") for path in sorted(root.glob(place))]
    found += [f"{path.relative_to(root)}: {problem}" for path in pages for problem in page_problems(path)]
    print("\n".join(found))
    print(f"{len(files) + len(pages)} files, {len(found)} problems")
    sys.exit(bool(found))


main()
