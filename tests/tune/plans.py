# SPDX-License-Identifier: Apache-2.0
"""Which kernels the defaults choose on each kind of machine, as fovea tune --explain tells it.

usage: plans.py PROGRAM...      (PROGRAM... may begin with an emulator)
"""
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, finish, run  # noqa: E402
from skips import skip_part  # noqa: E402

PROGRAM = sys.argv[1:]


def ok(*arguments, **variables):
    result = run([*PROGRAM, *arguments], {"FOVEA_PROFILE": "none", **variables})
    check(result.returncode == 0, arguments, result.returncode, result.stderr)
    return result.stdout


def test_few_rows_far():
    streams = {"plain": "packed B, nothing prefetched, kernel gemm_few_f32_halves_", "wide": "strips of 16 in",
               "hashed": "strips of 48 in", "mesh": "fetched into L1, kernel gemm_few_f32_avx512"}
    for set_, words in streams.items():
        text = ok("tune", "--explain", "gemm", "1x4096x4096", "packed", FOVEA_CACHES=f"32K,1M,32M,{set_}")
        check(words in text and ("the next one prefetched" in text) == (set_ == "hashed"), text)
        # Which kernel takes how many rows of a far B, also where one is excluded or pinned, and what is prefetched.
        few, one = "16x16" if set_ == "wide" else "9x48", "16x16" if set_ == "plain" else "9x48"
        without = {"FOVEA_EXCLUDE": "gemm_f32_16x16_avx512"} if set_ == "wide" else {}
        for rows, form, env, tile, else_ in (
                (6, "packed", {}, few, one),
                (7, "packed", {}, few if set_ == "wide" else "9x48", one),
                (12, "packed", {}, "12x32", "16x16"),
                (16, "packed", {}, "16x16", one),
                (4, "nn", {}, "6x64" if set_ == "wide" else "9x48", "9x48"),
                (8, "nn", {}, "9x48", "9x48"),
                (12, "nn", {}, "12x32", "9x48"),
                (4, "packed", without, "9x48", "9x48"),
                (4, "packed", {"FOVEA_PIN": "gemm_f32_9x48_avx512"}, "9x48", "9x48")):
            text = ok("tune", "--explain", "gemm", f"{rows}x4000x4000", form, FOVEA_CACHES=f"32K,1M,32M,{set_}", **env)
            few_of = {"mesh": range(13), "plain": (*range(6), *range(9, 13))}.get(set_, ())
            leads, blob = set_ == "wide", rows in few_of and form == "packed"
            steps = form == "nn" and (set_ == "mesh" or set_ == "plain" and rows <= 14)
            of_blobs = "gemm_few_f32_halves" if set_ == "plain" else "gemm_few_f32"
            kernel = "gemm_bn_f32" if steps else of_blobs if blob else f"gemm_f32_{tile if leads else else_}"
            check(f"kernel {kernel}_avx512" in text and ("a few rows at a time" in text) == steps, text)
            check((" lines ahead" in text and "a few rows at a time" not in text) == leads, text)
        # Rows of a natural B that meet in few sets of L1 are not followed, nor are more of them.
        for shape, words, led in (("8x4096x4096", "B in place,", False), ("13x4000x4000", "B in place,", False),
                                  ("3x4096x4096", "B in place,", False), ("2x4000x4000", "a few rows at a time", True),
                                  ("1x4000x4000", "a few rows at a time, pages touched 3 ahead", False)):
            text = ok("tune", "--explain", "gemm", shape, "nn", FOVEA_CACHES="32K,1M,32M,wide")
            check(words in text and (" lines ahead" in text) == led, text)
        for rows, tile in ((9, "9x48"), (10, "12x32"), (12, "12x32"), (13, "9x48")): # which they pass once
            steps = set_ == "mesh" or set_ == "plain" and rows > 9
            kernel = "gemm_bn_f32" if steps else f"gemm_f32_{tile if set_ == 'wide' else '9x48'}"
            text = ok("tune", "--explain", "gemm", f"{rows}x4096x4096", "nn", FOVEA_CACHES=f"32K,1M,32M,{set_}")
            check(f"kernel {kernel}_avx512" in text, text)
            check((" kc 512," in text) == (set_ == "wide" and rows == 13), text)
        text = ok("tune", "--explain", "gemm", "1x4000x4000", "packed", FOVEA_CACHES=f"32K,1M,32M,{set_}")
        check(("packed B, pages touched 3 ahead" in text) == (set_ == "wide"), text)
        text = ok("tune", "--explain", "gemm", "1x4096x4096", "nt", FOVEA_CACHES=f"32K,1M,32M,{set_}")
        check(("fetched into L1" in text) == (set_ in ("wide", "mesh")), text)
        check(("far apart, fetched into L1 7 lines ahead" in text) == (set_ == "mesh"), text)
        text = ok("tune", "--explain", "gemm", "80x3072x768", "nn", FOVEA_CACHES=f"32K,1M,32M,{set_}")
        check(("kc 256," in text) == (set_ == "mesh") and ", shared_bytes " in text, text)
        for rows in (30, 40): # over rows of B that meet in few sets of L1
            text = ok("tune", "--explain", "gemm", f"{rows}x2048x512", "nn", FOVEA_CACHES=f"32K,1M,32M,{set_}")
            check(("B packed on the way" in text) == (set_ in ("wide", "hashed") and rows == 40), text)
        for rows in (512, 1100): # one thread keeps a strip of B, or all of it
            text = ok("tune", "--explain", "gemm", f"{rows}x768x768", "nn", FOVEA_CACHES=f"32K,1M,32M,{set_}")
            check(("B packed as all rows pass" in text) == (set_ in ("plain", "wide") and rows == 512), text)


def test_small():
    # Few rows of a small B take the widest tile; of one that is transposed, the tile that leaves fewest strips.
    for shape, form, tile in (("1x64x64", "nn", "6x64"), ("5x64x64", "nt", "6x64"), ("6x64x64", "nn", "6x64"),
                              ("7x64x64", "nn", "9x48"), ("3x128x128", "packed", "6x64"), ("3x128x128", "nn", "6x64"),
                              ("4x112x128", "nt", "9x48"), ("2x48x128", "packed", "6x64"), ("1x256x256", "nn", "6x64")):
        text = ok("tune", "--explain", "gemm", shape, form, FOVEA_CACHES="32K,1M,32M,wide")
        check(f"kernel gemm_f32_{tile}_avx512" in text, text)
        text = ok("tune", "--explain", "gemm", shape, form, FOVEA_CACHES="32K,1M,32M,hashed")
        check(tile == "9x48" or f"kernel gemm_f32_{tile}_avx512" not in text, text)
    # Few columns take the tile that is as wide as they are, but not its 16 rows where these meet in one set of L1.
    for shape, form, tile in (("32x32x32", "nn", "12x32"), ("12x20x64", "packed", "12x32"),
                              ("128x16x768", "nt", "16x16"), ("33x40x64", "nn", "9x48"), ("400x16x1024", "nn", "9x48")):
        text = ok("tune", "--explain", "gemm", shape, form, FOVEA_CACHES="32K,1M,32M,plain")
        check(f"kernel gemm_f32_{tile}_avx512" in text, text)
    # The last columns have a kernel of their own: up to four, or eight, of at least 24 rows that do not meet in L1.
    for form, shape, sets in (("nn", "100x100x100", "plain wide"), ("packed", "33x33x33", "plain wide"),
                              ("nt", "33x17x33", "plain wide"), ("nn", "64x40x64", "wide"), ("nn", "100x105x100", ""),
                              ("nn", "23x17x33", ""), ("nn", "300x4x1024", ""), ("nn", "64x50x512", "")):
        for set_ in ("plain", "wide", "mesh"):
            text = ok("tune", "--explain", "gemm", shape, form, FOVEA_CACHES=f"32K,1M,32M,{set_}")
            check(("the last columns by gemm_edge" in text) == (set_ in sets), text)


def test_attention():
    # Queries from which on they are lanes where K is in rows, by the machine and the width of heads.
    for set_, narrow, broad in (("plain", 13, 14), ("wide", 14, 14), ("hashed", 16, 16), ("mesh", 12, 16)):
        for dim, first in ((64, narrow), (128, broad)):
            for queries in (first - 1, first):
                text = ok("tune", "--explain", "attention", f"1,12,12,{queries},{queries},{dim}", "full",
                          FOVEA_CACHES=f"32K,1M,32M,{set_}")
                check(("attention_prefill" in text) == (queries == first), text)


def test_avx2(info):
    # AVX2 alone takes small products by two panels side by side, but not three, nor rows of B that begin within lines,
    # and whole rows of a natural B for up to 32 rows of C, with AVX-512 beside it 64.
    for shape, form, kernel in (("64x64x64", "nn", "gemm_f32_3x32"), ("33x64x33", "nn", "gemm_f32_3x32"),
                                ("100x100x100", "packed", "gemm_f32_3x32"), ("100x100x100", "nn", "gemm_f32_6x16"),
                                ("20x48x256", "nn", "gemm_f32_6x16"), ("6x64x64", "nn", "gemm_f32_6x16"),
                                ("512x3072x768", "packed", "gemm_f32_6x16"), ("32x4096x4096", "nn", "gemm_bn_f32")):
        alone = "avx512" not in info
        text = ok("tune", "--explain", "gemm", shape, form, FOVEA_CACHES="32K,512K,32M,plain", FOVEA_ISA="avx2")
        expected = kernel if alone or kernel == "gemm_bn_f32" else "gemm_f32_6x16"
        check(f"kernel {expected}_avx2" in text, text)
        check(("kc 768, rows in chunks of 256" in text) == (alone and shape == "512x3072x768"), text)


INFO, CAP = ok("info"), os.environ.get("FOVEA_ISA")
if "avx512" in INFO and not CAP:
    test_few_rows_far()
    test_small()
    test_attention()
else:
    skip_part("tune_plans", "avx512", "this CPU, or its cap, has no AVX-512")
if "avx2" in INFO and CAP in (None, "avx2"):
    test_avx2(INFO)
else:
    skip_part("tune_plans", "avx2", "this CPU, or its cap, has no AVX2")
finish()
