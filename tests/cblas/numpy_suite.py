# SPDX-License-Identifier: Apache-2.0
"""NumPy's own tests of products and linear algebra with libfovea_cblas in front of the BLAS that NumPy has.

f32 goes through this library; all other types show that the BLAS behind it is still found.

usage: numpy_suite.py LIBRARY
"""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

import preload

PRODUCTS = """
import numpy as np
a, b = np.arange(3000, dtype=np.float32).reshape(50, 60), np.ones((60, 40), np.float32)
assert np.array_equal(a @ b, (a.astype(np.float64) @ b).astype(np.float32))
assert np.array_equal(a @ b[:, 0], a.sum(1))
"""


def main():
    library = sys.argv[1]
    needed = {"numpy": "python3-numpy", "pytest": "python3-pytest", "hypothesis": "python3-hypothesis"}
    missing = [package for module, package in needed.items() if importlib.util.find_spec(module) is None]
    if missing:
        preload.skip("cblas_numpy", "all", f"Debian packages {' '.join(missing)}")
    numpy = pathlib.Path(importlib.util.find_spec("numpy").origin).parent
    if not (numpy / "linalg/tests").exists():
        preload.skip("cblas_numpy", "all", f"{numpy} has no tests")
    python = [sys.executable, "-B"]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        done, bindings = preload.bound(python + ["-c", PRODUCTS], library, work / "bindings", cwd=work)
        assert done.returncode == 0, done.stderr[-2000:]
        umath = {symbol for file, symbol in bindings if "_multiarray_umath" in file}
        assert {"cblas_sgemm", "cblas_sgemv"} <= umath, f"NumPy calls {sorted(umath)} of {library}"
        files = [numpy / path for path in ("core/tests/test_multiarray.py", "core/tests/test_numeric.py",
                                           "core/tests/test_einsum.py", "linalg/tests")]
        done = subprocess.run(python + ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k",
                                        "matmul or dot or einsum or linalg"] + [str(file) for file in files],
                              cwd=work, env=preload.environment(library))
    sys.exit(done.returncode)


main()
