# SPDX-License-Identifier: Apache-2.0
"""A GEMM through the installed libfovea.so with nothing but ctypes: every type of the C API is plain.

usage: gemm.py LIBRARY
"""
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint32, c_void_p


class Desc(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("trans_a", c_int), ("trans_b", c_int), ("b_packed", c_uint32),
                ("m", c_size_t), ("n", c_size_t), ("k", c_size_t),
                ("lda", c_size_t), ("ldb", c_size_t), ("ldc", c_size_t),
                ("alpha", c_float), ("beta", c_float), ("activation", c_int), ("residual", c_uint32), ("ldr", c_size_t),
                ("gated", c_uint32), ("batch", c_size_t),
                ("batch_a", c_size_t), ("batch_b", c_size_t), ("batch_c", c_size_t), ("batch_r", c_size_t),
                ("b_type", c_int)]


class Args(ctypes.Structure):
    _fields_ = [("a", POINTER(c_float)), ("b", c_void_p), ("c", POINTER(c_float)), ("bias", POINTER(c_float)),
                ("residual", POINTER(c_float)), ("m", c_size_t)]


def floats(values):
    return (c_float * len(values))(*values)


def main():
    fovea = ctypes.CDLL(sys.argv[1])
    fovea.fovea_version.restype = fovea.fovea_status_string.restype = c_char_p
    engine = c_void_p()
    assert fovea.fovea_engine_create(None, byref(engine)) == 0
    m, n, k = 7, 20, 11
    a = floats([(3 * i) % 7 - 3 for i in range(m * k)])
    b = floats([(5 * i) % 11 - 5 for i in range(n * k)])  # stored n x k
    bias, c = floats(range(n)), floats([0] * (m * n))
    desc = Desc(struct_size=ctypes.sizeof(Desc), trans_b=1, m=m, n=n, k=k, lda=k, ldb=k, ldc=n, alpha=1, batch=1)
    args = Args(a=a, b=ctypes.cast(b, c_void_p), c=c, bias=bias, m=m)
    status = fovea.fovea_gemm_once(engine, byref(desc), byref(args))
    assert status == 0, fovea.fovea_status_string(status)
    expected = [sum(a[i * k + p] * b[j * k + p] for p in range(k)) + bias[j] for i in range(m) for j in range(n)]
    assert list(c) == expected, (list(c), expected)
    desc.ldb = k - 1
    status = fovea.fovea_gemm_once(engine, byref(desc), byref(args))
    assert fovea.fovea_status_string(status) == b"FOVEA_ERR_STRIDE", status
    fovea.fovea_engine_destroy(engine)
    print(f"Python: fovea {fovea.fovea_version().decode()}, {m} x {n} x {k}")


main()
