# SPDX-License-Identifier: Apache-2.0
"""fovea tune --show and --diff: what stands in their tables, and what does not; --explain --json.

usage: show.py PROGRAM...      (PROGRAM... may begin with an emulator)
"""
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, reseal, run  # noqa: E402

PROGRAM = sys.argv[1:]
SCALAR = "gemm_f32_4x16_scalar"


def fovea(*arguments, **variables):
    return run([*PROGRAM, "tune", *arguments], {"HOME": HOME, **variables})


def ok(*arguments, **variables):
    result = fovea(*arguments, **variables)
    check(result.returncode == 0 and (not result.stderr or "--output" in arguments), arguments, result)
    return result.stdout


def refused(must_say, *arguments):
    check_refused(fovea(*arguments), must_say)


def profile(path, *choices):
    options = [word for choice in choices for word in ("--set", choice)]
    ok("--level", "estimate", "--output", path, "--force", *options)


def rows(text):
    """The names of the classes of a table."""
    return re.findall(r"^((?:gemm|attention|slot|cache) \S+) ", text, re.M)


def measured(path, l2):
    """As a search leaves a profile that found a larger L2 than the machine reports."""
    reseal(path, lambda text: re.sub(r"^level .*\n", rf"\g<0>l2 {l2}\n", text, flags=re.M))


def test_l2(paths):
    for path in paths:
        profile(path)
    before = json.loads(ok("--show", paths[0], "--json"))
    measured(paths[1], 4 * before["caches"][1])
    data = json.loads(ok("--show", paths[1], "--json"))
    check(before["l2_measured_bytes"] == 0 and data["l2_measured_bytes"] == 4 * data["caches"][1], before, data)
    check(before["classes"] != data["classes"], "the same defaults for four times the L2")
    kib = [data["caches"][1] >> 10, data["l2_measured_bytes"] >> 10]
    check(f"\nan L2 of {kib[1]} KiB was measured" in ok("--show", paths[1]) and rows(ok("--show", paths[1])) == [], kib)
    text = ok("--diff", *paths)
    check(f"A is for an L2 of {kib[0]} KiB, B of {kib[1]}\n" in text and " classes differ" in text, text)
    info = run([*PROGRAM, "info"], {"HOME": HOME, "FOVEA_PROFILE": paths[1]}).stdout
    check(f"{kib[1]} KiB" in info and f"measured by the profile; this machine reports {kib[0]} KiB\n" in info, info)
    info = json.loads(run([*PROGRAM, "info", "--json"], {"HOME": HOME, "FOVEA_PROFILE": paths[1]}).stdout)
    check((info["l2_reported_bytes"] >> 10, info["l2_bytes"] >> 10) == tuple(kib), info)
    for choices in ([], ["some-far-nn.kc=512"]): # the next run keeps it, and the rest of a class is of it
        profile(paths[1], *choices)
        again = json.loads(ok("--show", paths[1], "--json"))
        check(again["l2_measured_bytes"] == data["l2_measured_bytes"], choices, again)
        for was, now in zip(data["classes"], again["classes"]):
            tuned = ("tuned", "kc") if was["class"] == "some-far-nn" else ()
            check({**was, **{name: now[name] for name in tuned}} == now, choices, was, now)
    os.unlink(paths[1])


def test_show(path):
    classes = [f"{c['operator']} {c['class']}" for c in json.loads(ok("--show", "--json"))["classes"]]
    for file in ([], [path]):
        profile(path)
        text = ok("--show", *file)
        check(rows(text) == [] and f"\n{len(classes)} classes keep the default: --all lists them.\n" in text, text)
        check(rows(ok("--show", *file, "--all")) == classes, "--all has every class")
    profile(path, "some-far-nt.mc=16", f"few-near-nn.kernel={SCALAR}", "heads-64.queries=32", "border.near=80")
    text = ok("--show", path)
    chosen = rows(text)
    check(sorted(chosen) == ["attention heads-64", "cache border", "gemm few-near-nn", "gemm some-far-nt"] or
          SCALAR not in text, text)  # a machine without SIMD has that kernel
    check(re.search(r"^gemm some-far-nt +- +\S", text, re.M), text)  # nothing was measured of it
    check(" -> 32" in text and f"\n{len(classes) - len(chosen)} classes keep the default" in text, text)
    text = ok("--show", "--all", path)
    check(rows(text) == classes and "keep the default" not in text and " -> 32" in text, text)
    check(ok("--show", path, "--json") == ok("--show", path, "--json", "--all"), "--json has all")


def test_diff(path, other):
    profile(path, "some-far-nt.mc=16", "heads-64.queries=32")
    profile(other)
    text = ok("--diff", path, other)
    check(rows(text) == ["gemm some-far-nt", "attention heads-64"] and text.endswith("\n2 classes differ\n"), text)
    check(re.search(r"^gemm some-far-nt +- +-  .* -> ", text, re.M), text)  # nothing was measured of either
    check(ok("--diff", path, path) == "0 classes differ\n", "a profile and itself")


def test_explain(path):
    """The JSON says what the text does."""
    profile(path, f"few-near-nn.kernel={SCALAR}", "few-near-nn.kc=32")
    few = ["--explain", "gemm", "8x64x64", "nn"]
    text, data = ok(*few, FOVEA_PROFILE=path), json.loads(ok(*few, "--json", FOVEA_PROFILE=path))
    check(data["class"] == "few-near-nn" and text.startswith(f"class    {data['operator']} few-near-nn\n"), text, data)
    for name in "profile", "plan", "threads":
        check(f"\n{name:8} {data[name]}\n" in text, name, text, data)
    check(data["chosen"].keys() == data["default"].keys() and data["chosen"]["kernel"] == SCALAR, data)
    check(data["chosen"]["kc"] == 32 and f"kc {data['default']['kc']} -> 32" in text, data, text)
    check(data["runs"] in data["plan"] and " ".join(text.split()).count(data["because"]) == 1, data, text)
    decode = ["--explain", "attention", "1,8,1,1,4096,64", "decode"]
    data = json.loads(ok(*decode, "--json", "--threads", "3"))
    check(data["class"] == "heads-64" and data["chosen"] == data["default"] and data["threads"] == 3, data)
    # A kernel of a slot of its own that is not the default.
    profile(path, "attention_decode.kernel=attention_decode_f32_scalar")
    text, words = ok(*decode, FOVEA_PROFILE=path), f"{data['runs']} -> attention_decode_f32_scalar"
    check(f"\nchanged  {words}\n" in text or data["runs"].endswith("_scalar"), text)
    check("\nchanged  nothing" in ok(*decode), "no profile")
    refused("attention: ", "--explain", "attention", "1,3,2,5,5,64", "--json")


def test_refusals(path):
    refused("--diff takes two", "--diff", "a")
    refused("--diff takes two", "--diff")
    refused("--show takes one file", "--show", path, path)
    refused("unknown option", "--show", "--every")
    refused("/nonesuch: cannot be opened: No such file or directory", "--diff", "/nonesuch", "/nonesuch")
    refused("/nonesuch: cannot be opened: No such file or directory", "--show", "/nonesuch")
    refused("it is the profile to begin with", "--from", path, "--report", HOME + "/./first", "--output", HOME + "/x")
    for part in "--show", "--diff":
        check(ok(part, "-h").startswith("usage: fovea tune " + part), part)


with tempfile.TemporaryDirectory() as HOME:
    places = os.path.join(HOME, "first"), os.path.join(HOME, "second")
    test_show(places[0])
    test_l2(places)
    test_diff(*places)
    test_explain(places[0])
    test_refusals(places[0])
finish()
