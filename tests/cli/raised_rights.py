# SPDX-License-Identifier: Apache-2.0
"""A set-uid program does not do what its user's environment says.

usage: raised_rights.py PROGRAM
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, finish, run  # noqa: E402
from skips import skip  # noqa: E402

PROGRAM = sys.argv[1]


def chosen(path):
    result = run([path, "info", "--json"], {"FOVEA_ISA": "scalar", "FOVEA_VERBOSE": "1"})
    info = json.loads(result.stdout)
    check((info["settings"] != {}) == (result.stderr != ""), result)
    return {v["isa"] for v in info["variants"] if v["chosen"]}, info["settings"] != {}


with tempfile.TemporaryDirectory() as folder:
    if os.geteuid() != 0 or os.statvfs(folder).f_flag & os.ST_NOSUID:
        skip("cli_raised_rights", "set-uid", "not root, or a folder without set-uid programs")
    path = os.path.join(folder, "fovea")
    shutil.copy(PROGRAM, path)
    os.chown(path, 65534, 65534)
    os.chmod(folder, 0o755)
    for mode, believed in ((0o755, True), (0o4755, False)):
        os.chmod(path, mode)
        isas, told = chosen(path)
        check(told == believed and (isas == {"scalar"} or not believed), mode, isas)
finish()
