# SPDX-License-Identifier: Apache-2.0
"""One of netlib's BLAS testers, as Debian's libblas-test has them, on libfovea_cblas, with sizes beyond its own.

The tester gets its own input but for the sizes and the routines: those of this library alone. Everything else it needs
comes from the reference BLAS beside it.

usage: netlib.py LIBRARY FOLDER_OF_TESTERS TESTER
"""
import pathlib
import re
import sys
import tempfile

import preload

SIZES = "0 1 2 3 7 16 31 48 65"
# tester: (input, routine as the tester names it, symbol, what "passed" lines it prints)
TESTERS = {
    "xscblat2": ("sin2", "cblas_sgemv", ["ERROR-EXITS", "COLUMN-MAJOR COMPUTATIONAL", "ROW-MAJOR    COMPUTATIONAL"]),
    "xscblat3": ("sin3", "cblas_sgemm", ["ERROR-EXITS", "COLUMN-MAJOR COMPUTATIONAL", "ROW-MAJOR    COMPUTATIONAL"]),
    "xblat2s": ("sblat2.in", "SGEMV", ["ERROR-EXITS", "COMPUTATIONAL"]),
    "xblat3s": ("sblat3.in", "SGEMM", ["ERROR-EXITS", "COMPUTATIONAL"]),
}


def tester_input(text, routine):
    text, count = re.subn(r"^\d+( +NUMBER OF VALUES OF N)$", rf"{len(SIZES.split())}\1", text, flags=re.M)
    text, sizes = re.subn(r"^[\d ]+?( +VALUES OF N)$", rf"{SIZES}\1", text, flags=re.M)
    assert count == sizes == 1, "the packaged input is not as expected"
    lines = [line if line.split()[0] == routine else re.sub(r"^(\w+ +)T PUT F", r"\1F PUT F", line)
             for line in text.splitlines()]
    assert sum(" T PUT F" in line for line in lines) == 1, "one routine is tested"
    return "\n".join(lines) + "\n"


def main():
    library, folder, tester = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    source, routine, expected = TESTERS[tester]
    if not (folder / tester).exists() or not (folder / "libblas.so.3").exists():
        preload.skip("cblas_netlib", tester, f"no {folder / tester} with libblas.so.3 beside it")
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        done, bindings = preload.bound(
            [str(folder / tester)], library, work / "bindings", cwd=work, env={"LD_LIBRARY_PATH": str(folder)},
            input=tester_input((folder / source).read_text(), routine))
        report = done.stdout + "".join(path.read_text() for path in work.glob("s*.out"))
    print(report)
    assert done.returncode == 0, f"{tester} ended with {done.returncode}: {done.stderr[-500:]}"
    symbol = routine if routine.startswith("cblas") else routine.lower() + "_"
    assert (str(folder / tester), symbol) in bindings, f"{tester} did not call {symbol} of {library}"
    for what in expected:
        assert re.search(rf"^ *{routine} +PASSED THE (TESTS OF )?{what}", report, re.M), f"not passed: {what}"
    trouble = re.search(r"FAILED|SUSPECT|FATAL|\*\*\*\*|NOT DETECTED", report)
    assert not trouble, trouble.group(0)
    print(f"{tester}: {symbol} of {library}, {re.findall(r'[(] *([0-9]+) CALLS', report)} calls")


main()
