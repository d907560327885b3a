# SPDX-License-Identifier: Apache-2.0
"""fovea bench: names and counters of the JSON, the table, pictures, peers that are not installed, and what it refuses.

usage: smoke.py built|absent PROGRAM...      (absent: the program was built without benchmarks)
"""
import os
import pathlib
import re
import sys
import tempfile
from xml.etree import ElementTree

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, read_json, run  # noqa: E402

BUILT, PROGRAM = sys.argv[1] == "built", sys.argv[2:]
NAME = re.compile(r"gemm/f32/(plain|packed|packed-gelu|packed-b?f16|packed-s8)/[nt][nt]/(?:\d+x)?(\d+)x(\d+)x(\d+)$")
SMALL = ["gemm", "--shapes", "smoke", "--min-time", "0.001"]
SVG = "{http://www.w3.org/2000/svg}"
ATTENTION = ["attention", *SMALL[1:]]
LAYER = ["layer", *SMALL[1:]]
# What comes from memory is six times the last-level cache, up to 1 GiB, for each line and each that races.
CACHES = "32K,256K,1M"


def bench(*arguments, **variables):
    if "--peers" in arguments:
        # Peers' leaks (ONNX Runtime: 14 bytes) are not ours, and LeakSanitizer itself dies at times of the threads of
        # a library loaded twice ("Tracer caught signal 11"). Ours show without peers.
        variables.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    return run([*PROGRAM, "bench", *arguments], {"FOVEA_CACHES": CACHES, **variables})


def refused(must_say, *arguments):
    check_refused(bench(*arguments), must_say)


def report(*arguments, **environment):
    result = bench(*SMALL, "--json", *arguments, **environment)
    check(result.returncode == 0, arguments, environment, result.returncode, result.stderr)
    return read_json(result.stdout)


def check_lines(lines):
    ways = set()
    for line in lines:
        name = NAME.match(line["name"])
        check(name and line["name"] == line["run_name"], line)
        ways.add("/".join(line["name"].split("/")[2:4]))
        check("error_occurred" not in line and line["real_time"] > 0 and line["iterations"] > 0, line)
        check(line["gflops"] > 0 and 0 < line["of_peak"] and line["of_peak_q1"] <= line["of_peak_q3"], line)
        check(0 <= line.get("interrupted", 0) < 1 and 0 <= line["stolen"] <= 1, line)
        decoding = int(name.group(2)) <= 16
        check(("of_stream" in line) == decoding and ("of_bound" in line) == decoding, line)
        check(("over_plain" in line) == (name.group(1) == "packed-gelu"), line)
    check(ways == {"plain/nn", "plain/nt", "plain/tn", "plain/tt", "packed/nn", "packed/nt", "packed-gelu/nt",
                   "packed-bf16/nt", "packed-f16/nt", "packed-s8/nt"}, ways)


def check_race(raced):
    peers = [value for key, value in raced["context"].items() if key.startswith("peer_")]
    for line in raced["benchmarks"]:
        check(("vs_best_peer" in line) == ("peer" in line), line)
        check("peer" not in line or line["vs_best_peer"] > 0 and peers[int(line["peer"])] in line["label"], line)
    return peers


def check_attention_race(empty):
    for threads, some in ("1", "."), ("2", "/(full|decode)/"):  # a line of two threads of a BLAS takes seconds
        missing = bench(*ATTENTION, "--peers", "--json", "--threads", threads, "--filter", some, FOVEA_PEERS_DIR=empty)
        check(missing.returncode == 0 and "peer ONNX Runtime: not installed" in missing.stderr, missing)
        check("libxsmm" not in missing.stderr, "it has no attention", missing)
        raced = read_json(missing.stdout)
        peers = check_race(raced)
        for line in raced["benchmarks"]:
            alone = not peers or re.search("/(softcap|dropout|statistics)/", line["name"])
            check(("peer" in line) != bool(alone) and ("peer_work_bytes" in line) != bool(alone), line)
    # With ONNX Runtime, where it is.
    whole = bench(*ATTENTION, "--peers", "--filter", "/full/|/softcap/")
    check(whole.returncode == 0 and len(re.findall("^attention/f32/", whole.stdout, re.M)) == 2, whole)


def check_layers():
    result = bench(*LAYER, "--json")
    check(result.returncode == 0, result)
    kinds, lines = set(), read_json(result.stdout)["benchmarks"]
    for line in lines:
        name = re.match(r"layer/f32/(encoder|encoder-pre|decode[a-z0-9-]*)/(\d+),(\d+)((?:,\d+){3}|(?:,\d+){5})$",
                        line["name"])
        check(name and "error_occurred" not in line and line["gflops"] > 0 and line["of_peak"] > 0, line)
        check((name.group(4).count(",") == 5) == name.group(1).startswith("decode"), line)
        streams = int(name.group(2)) * int(name.group(3)) <= 16
        check(("of_stream" in line) == streams and line["work_bytes"] > 0, line)
        kinds.add(name.group(1))
    check(len(kinds) == 8, kinds)
    listed = bench(*LAYER, "--list")
    check(listed.stdout.split() == [line["name"].split("/iterations")[0] for line in lines], listed)
    named = bench("layer", "encoder/1,3,32,2,40", "layer/f32/decode-gated/2,1,17,32,4,2,48", "--min-time", "0",
                  "--threads", "2")
    check(named.returncode == 0 and len(re.findall("^layer/f32/.* [mun]s ", named.stdout, re.M)) == 2, named)
    for name in "encoder/1,3,32,2", "decode/1,1,4,32,2,40", "layer/1,3,32,2,40":
        refused(f'"{name}" is no line', "layer", name)
    for name, why in (("encoder/1,3,32,3,40", "a width of 32 is no multiple of 3 heads"),
                      ("encoder-pre/1,3,1026,2,40", "heads of 513 elements, more than 512"),
                      ("decode/1,5,4,32,2,2,40", "5 positions, of 4 keys"),
                      ("decode-gated/1,1,4,32,4,3,40", "4 heads are no multiple of 3 key heads"),
                      ("decode-gated/1,1,4,6,2,2,8", "heads of 3 elements cannot turn in pairs")):
        refused(why, "layer", name)


def check_layer_race(empty):
    missing = bench(*LAYER, "--peers", "--json", FOVEA_PEERS_DIR=empty)
    check(missing.returncode == 0 and "peer ONNX Runtime: not installed" in missing.stderr, missing)
    check(missing.stderr.count("peer ") == 1 and not check_race(read_json(missing.stdout)), "no other has layers")
    # With ONNX Runtime, where it is: it has all of them, and is right.
    whole = bench(*LAYER, "--peers", "--json")
    check(whole.returncode == 0, whole)
    raced = read_json(whole.stdout)
    peers = check_race(raced)
    check(not peers or all("peer" in line for line in raced["benchmarks"]), peers, raced)


def check_picture(path, lines, *, inside_page):
    """Well-formed, one mark a line and each with a tooltip of its name."""
    root = ElementTree.fromstring(path.read_text().removeprefix("<!doctype html>\n"))
    svg = root.find(f".//{SVG}svg") if inside_page else root
    check((root.tag == "html") == inside_page and svg is not None and svg.tag == SVG + "svg", path, root.tag)
    marks = [group for group in svg.iter(SVG + "g") if group.get("class", "").startswith("line ")]
    names = sorted(mark.find(SVG + "title").text.split(" ")[0] for mark in marks)
    check(names == sorted(lines) and not list(root.iter("script")), names)
    check(all(mark.findall(f"*[@class='{what}']") for mark in marks for what in ("row", "end")), "a number each")
    return svg


def check_reports(folder, lines):
    attention = bench(*ATTENTION, "--list").stdout.split()
    svg, page = folder / "r.svg", folder / "r.html"
    table = bench(*SMALL, "--report", svg)
    check(table.returncode == 0 and table.stdout.count("\ngemm/f32/") == len(lines), table)
    drawn = "".join(check_picture(svg, lines, inside_page=False).itertext())
    check("FMA peak " in drawn and "plain nt, few rows" in drawn and "plain nt, batches" in drawn, drawn)
    raced = bench(*ATTENTION, "--json", "--peers", "--report", page, FOVEA_PEERS_DIR=folder)
    check(raced.returncode == 0 and len(read_json(raced.stdout)["benchmarks"]) == len(attention), raced)
    drawn = "".join(check_picture(page, attention, inside_page=True).itertext())
    check(("best peer" in drawn) == ("vs_best_peer" in raced.stdout), drawn)

    old = svg.read_bytes()
    taken = folder / "taken.html"
    taken.mkdir()
    for place, why in ((folder / "none" / "r.svg", "No such file"), (taken, "Is a directory"),
                       (folder / "r.png", "ends in .svg or in .html"), (folder / "svg", "ends in .svg or in .html")):
        refused(why, *SMALL, "--report", place)
    taken.rmdir()
    refused("give one of them", *SMALL, "plain/nn/4x4x4", "--shapes", "all")
    refused("no line", "gemm", "--filter", "nonesuch", "--report", svg)
    refused("--report draws times", *SMALL, "--count", "steps", "--report", svg)
    refused("--report wants a file", *SMALL, "--report", "-")
    check(svg.read_bytes() == old and sorted(folder.iterdir()) == [page, svg], "nothing else there")


def main():
    check(bench("--help").stdout.startswith("usage: fovea bench"), "--help")
    if not BUILT:
        refused("not built in", "gemm")
        return
    whole = report()
    if "FOVEA_BUILD_TYPE" in os.environ: # set by ctest
        check(whole["context"]["library_build_type"] == os.environ["FOVEA_BUILD_TYPE"], whole["context"])
    check(whole["context"]["threads"] == "1" and whole["context"]["isa"], whole["context"])
    check_lines(whole["benchmarks"])
    check(all(line["cpu_time"] == line["real_time"] for line in whole["benchmarks"]), "the time of a report")
    check_lines(report("--threads", "2")["benchmarks"])
    scalar = report("--filter", "packed/nt", FOVEA_ISA="scalar")
    check(scalar["context"]["isa"] == "scalar" and len(scalar["benchmarks"]) == 2, scalar)
    check(len(report("--filter", "64x64x64$")["benchmarks"]) == 5, "the end of a name")
    check(len(report("--filter=/3x20x24x16$")["benchmarks"]) == 1, "a batch")
    check(len(report("--filter", "-64x64x64$")["benchmarks"]) + 5 == len(whole["benchmarks"]), "all but some")

    # What Google Benchmark's own programs take from the environment means nothing here.
    with tempfile.TemporaryDirectory() as folder:
        foreign = {"REPETITIONS": "3", "LIST_TESTS": "true", "REPORT_AGGREGATES_ONLY": "true", "OUT": folder + "/out",
                   "ENABLE_RANDOM_INTERLEAVING": "true", "TIME_UNIT": "ms", "FORMAT": "csv", "FILTER": "nonesuch"}
        lines = report("--filter", "20x80x48", **{"BENCHMARK_" + name: value for name, value in foreign.items()})
        check(len(lines["benchmarks"]) == 3 and not os.listdir(folder), lines)
        check(all(line["repetitions"] == 1 and line["time_unit"] == "ns" for line in lines["benchmarks"]), lines)

    named = bench("gemm", "plain/tt/2x5x33x7", "gemm/f32/packed/nn/1x18x9", "--min-time", "0", "--json")
    names = [line["name"] for line in read_json(named.stdout)["benchmarks"]]
    check([name.split("/iterations")[0] for name in names] ==
          ["gemm/f32/plain/tt/2x5x33x7", "gemm/f32/packed/nn/1x18x9"], names)
    listed = bench("attention", "--list", "causal/1,4,2,9,9,16", "full/1,1,1,1,1,8", "--filter", "causal")
    check(listed.stdout == "attention/f32/causal/1,4,2,9,9,16\n", listed.stdout)
    check(bench(*SMALL, "--list").stdout.split() == [line["name"].split("/iterations")[0]
                                                     for line in whole["benchmarks"]], "--list")
    for suite, name in (("gemm", "plain/nt/0x3x3"), ("gemm", "64x64x64"),
                        ("gemm", "plain/nn/3x4x99999999999"), ("attention", "full/1,12,12,3,3")):
        refused(f'"{name}" is no line', suite, name)
    refused("of sizes from 1 to 2^31, like plain/nt/64x64x64", "gemm", "64x64x64")
    refused("12 heads are no multiple of 7 key heads", "attention", "causal/1,12,7,3,3,64")
    refused("heads of 513 elements, more than 512", "attention", "full/1,1,1,3,3,513")
    refused("have no batch", "gemm", "packed/nn/2x3x4x5")
    large = 1 << 31
    for suite, name in (("gemm", f"plain/nn/{large}x{large}x{large}"), ("gemm", f"plain/nn/{large}x{large}x1x1"),
                        ("attention", f"full/1,1,1,{large},{large},{large}"),
                        ("layer", f"encoder/{large},{large},64,1,64")):
        refused("elements are too many", suite, name)
    for kind in "causal", "window", "alibi", "decode":
        refused("10 queries in order, of 5 keys", "attention", kind + "/1,1,1,10,5,64")
    for name in "full/1,1,1,10,5,64", "padded/1,1,1,10,1,64":
        check(bench("attention", name, "--min-time", "0").returncode == 0, name)
    attention = bench(*ATTENTION, "--json")
    check(attention.returncode == 0, attention)
    kinds = set()
    for line in read_json(attention.stdout)["benchmarks"]:
        name = re.match(r"attention/f32/([a-z0-9-]+)/(\d+,){5}\d+$", line["name"])
        check(name and "error_occurred" not in line and line["gflops"] > 0 and line["of_peak"] > 0, line)
        streams = name.group(1).startswith("decode") and not name.group(1).endswith("-l2")
        check(("of_stream" in line) == streams and line["work_bytes"] > 0, line)
        kinds.add(name.group(1))
    check(len(kinds) == 16, kinds)

    check_layers()

    # Peers that are installed race, and are right; those in the folder of peers are missing here, by name.
    with tempfile.TemporaryDirectory() as empty:
        check_race(report("--filter", "plain/nn/64", "--peers", FOVEA_PEERS_DIR=empty))
        check_attention_race(empty)
        check_layer_race(empty)
        table = bench(*SMALL, "--filter", "plain/nn/64", "--peers", FOVEA_PEERS_DIR=empty)
    check(table.returncode == 0 and re.search(r"^gemm/f32/plain/nn/64x64x64 +[\d.]+ .s ", table.stdout, re.M), table)
    check("peer libxsmm: " in table.stdout and "peer ONNX Runtime: " in table.stdout, table.stdout)

    with tempfile.TemporaryDirectory() as folder:
        check_reports(pathlib.Path(folder), [line["name"] for line in whole["benchmarks"]])

    refused("no line", "gemm", "--filter", "nonesuch")
    for wrong, why in (("[", ""), ("open(", "Unmatched"), ("-open(", "Unmatched")):
        refused(f'"{wrong}" is no regular expression: {why}', "gemm", "--filter", wrong)
    refused("--shapes takes", "gemm", "--shapes", "round")
    refused("--threads takes a whole number from 1 to 64", "gemm", "--threads", "0")
    refused("--threads wants a value", "gemm", "--threads")
    refused("--offset 6 is no multiple of 4", "gemm", "--offset", "6")
    refused("--offset takes a whole number from 0 to 4092", "gemm", "--offset", "4096")
    refused("layers have no --offset", "layer", "--offset", "16")
    refused("which --offset is no part of", "gemm", "--offset", "16", "--history", "x.db")
    refused('"smoke" is no line', "gemm", "smoke")
    refused("--min-time takes", "gemm", "--min-time", "soon")
    refused("unknown option", "gemm", "--fast")
    refused('no suite "fft"', "fft")
    refused('the suite comes before "--peers"', "--peers", "gemm")


main()
finish()
