# SPDX-License-Identifier: Apache-2.0
"""fovea tune from outside: levels, files, tables, reports, what it refuses, and what is installed.

usage: cli.py CMAKE BUILD PROGRAM...      (PROGRAM... may begin with an emulator; BUILD: "-" to leave installing out)
"""
import html.parser
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, environment, finish, run  # noqa: E402

CMAKE, BUILD, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]
SMALL = "FOVEA_TEST_SMALL" in os.environ


def fovea(*arguments, **variables):
    return run([*PROGRAM, *arguments], {"HOME": HOME, **variables})


def ok(*arguments, **more):
    result = fovea(*arguments, **more)
    check(result.returncode == 0, arguments, result.returncode, result.stderr)
    return result.stdout


def refused(must_say, *arguments, **more):
    check_refused(fovea(*arguments, **more), must_say)


def profile_line(**more):
    return json.loads(ok("info", "--json", **more))["profile"]


def test_estimate(folder):
    path = os.path.join(folder, "estimate")
    data = json.loads(ok("tune", "--level", "estimate", "--output", path, "--json"))
    check(data["level"] == "estimate" and data["classes"] and not any(c["tuned"] for c in data["classes"]), data)
    check(oct(os.stat(path).st_mode & 0o777) == "0o644", os.stat(path).st_mode)
    check(profile_line(FOVEA_PROFILE=path).startswith(path + " (level estimate, 0 classes"), profile_line())
    ok("tune", "--level", "estimate")  # the user's place
    place = os.path.join(HOME, ".config/fovea/profile")
    check(profile_line().startswith(place), profile_line())
    text = ok("tune", "--show")
    check(text.startswith("profile: " + place), text)
    verbose = fovea("info", FOVEA_VERBOSE="1").stderr
    check(verbose.count("\n") == 1 and place in verbose, verbose)
    os.unlink(place)
    check(profile_line().startswith("none"), profile_line())
    text = ok("tune", "--show")
    check(text.startswith("profile: none") and " 0 0 0 KiB" not in text, text)
    data = json.loads(ok("tune", "--show", "--json"))
    check(data["level"] == "estimate" and all(data["caches"][:2]), "--show --json without a profile")
    with open(path, "a") as file:
        file.write("\n")
    check("ignored: damaged" in profile_line(FOVEA_PROFILE=path), profile_line(FOVEA_PROFILE=path))
    refused("damaged", "tune", "--show", path)


def test_set(folder):
    path, other = os.path.join(folder, "set"), os.path.join(folder, "other")
    scalar = "gemm_f32_4x16_scalar"
    ok("tune", "--level", "estimate", "--output", path, "--set", "all.kc=32", "--set", "some-far-nt.mc=16", "--set",
       f"few-near-nn.kernel={scalar}", "--set", "heads-64.queries=32", "--set", "border.near=80")
    classes = {c["class"]: c for c in json.loads(ok("tune", f"--show={path}", "--json"))["classes"]}
    check(classes["many-far-nn"]["kc"] == 32 and classes["some-far-nt"]["mc"] == 16, classes)
    check(classes["many-far-nn"]["tuned"] and "gain" not in classes["many-far-nn"], "a gain that nobody measured")
    check(classes["few-near-nn"]["kernel"] == scalar and classes["heads-64"]["queries"] == 32, classes)
    text = ok("tune", "--explain", "gemm", "8x64x64", "nn", FOVEA_PROFILE=path)
    check("few-near-nn" in text and scalar in text and "kc 32" in text and "20 KiB" in text, text)
    info = {v["name"]: v for v in json.loads(ok("info", "--json", FOVEA_PROFILE=path))["variants"]}
    check(info[scalar]["chosen"] or info[scalar]["also"], "what a class is given is in use", info[scalar])
    check("few-far-nn" in ok("tune", "--explain", "gemm", "8x64x96", "nn", FOVEA_PROFILE=path), "a border of 20 KiB")
    text = ok("tune", "--explain", "attention", "1,12,4,64,300,96", "causal")
    check("heads-128" in text and "plan     attention: " in text, text)
    check("attention_decode_f16_f32_" in ok("tune", "--explain", "attention", "1,8,1,1,4096,64", "decode-f16"), "f16")
    text = ok("tune", "--explain", "attention", "1,8,1,1,4096,64", "decode")
    check("heads-64" in text and "panels" in text and ", shared_bytes " in text, text)
    refused("--explain", "tune", "--explain", "attention", "1,8,8,16,16", "full")
    refused("--explain", "tune", "--explain", "gemm", "1x2x3", "causal")
    for line, sizes in (("plain/nn/8x64x64", ["8x64x64", "nn"]), ("gemm/f32/plain/tn/3x8x64x64", ["3x8x64x64", "tn"]),
                        ("packed/nt/8x64x64", ["8x64x64", "packed"]),
                        ("packed-s8/nt/8x64x64", ["8x64x64", "packed-s8"])):
        check(ok("tune", "--explain", "gemm", line) == ok("tune", "--explain", "gemm", *sizes), line)
    for line in "causal/1,4,4,64,64,32", "attention/f32/causal/1,4,4,64,64,32":
        check(ok("tune", "--explain", "attention", line) ==
              ok("tune", "--explain", "attention", "1,4,4,64,64,32", "causal"), line)
    refused('has no form "window"', "tune", "--explain", "attention", "window/1,4,4,64,64,32")
    refused('not "plain/nn/8x64x64"', "tune", "--explain", "gemm", "plain/nn/8x64x64", "nt")
    for form, said in (("nn", "nn"), ("packed", "n packed"), ("packed-bf16", "n packed bf16"),
                       ("packed-f16", "n packed f16"), ("packed-s8", "n packed s8")):  # a batch, as fovea bench has it
        check(f"gemm: 20x24x16 f32 {said} batch 3, " in ok("tune", "--explain", "gemm", "3x20x24x16", form), form)
    # What differs from the model, and with --all the rest, in lines that fit.
    for options in ([], ["--all"]):
        text = ok("tune", "--explain", "gemm", "8x64x64", "nn", *options, FOVEA_PROFILE=path)
        check(f"\nchosen   {scalar}\nchanged  " in text and " -> 32" in text, text)
        check(("\nall      kc 32,  " in text) == ("  mc " in text) == bool(options), text)
        check(max(map(len, text.split("\nplan ")[0].splitlines())) <= 100, text)
    check("\nchanged  nothing" in ok("tune", "--explain", "gemm", "8x64x64", "nn"), "no profile")
    # Whom it is planned for, and how operands lie.
    text = ok("tune", "--explain", "gemm", "512x512x512")
    check("\nthreads  1\n" in text and " f32 nt " in text, text)
    more = ok("tune", "--explain", "gemm", "512x512x512", "--threads=4")
    check("\nthreads  4\n" in more and more.split("plan ")[1] != text.split("plan ")[1], more)
    text = ok("tune", "--explain", "gemm", "40x50x60", "packed-bf16")
    check("B of 11.7 KiB as f32" in text and "B is packed like one that lies as n x k" in text, text)
    text = ok("tune", "--explain", "gemm", "1x50x60", "packed-bf16")
    check("packed B, widened in registers, " in text and ", kernel gemm_bf16_f32_" in text, text)
    check("B is read from memory once" in text, text)
    for form in ("nn", "nt", "tn", "tt"):
        text = ok("tune", "--explain", "gemm", "40x50x60", form)
        check(f"40x50x60 f32 {form} " in text and ("B lies as n x k" in text) == (form[1] == "t"), text)
    text = ok("tune", "--explain", "gemm", "1x5x5")
    check('1 row: "few", at most 8' in text and " 1 task, " in text, text)
    if "avx512" in ok("info") and not os.environ.get("FOVEA_ISA"):
        # What another cap chose is no choice here, and a profile of another cap is replaced on purpose only.
        ok("tune", "--level", "estimate", "--output", other, "--force", "--set", "some-far-nn.kc=512", "--set",
           "some-far-nt.kernel=gemm_f32_6x64_avx512")
        narrow = os.path.join(folder, "narrow")
        ok("tune", "--level", "estimate", "--from", other, "--output", narrow, FOVEA_ISA="avx2")
        classes = {c["class"]: c for c in json.loads(ok("tune", "--show", narrow, "--json"))["classes"]}
        check(not classes["some-far-nt"]["tuned"], "a kernel of AVX-512 under a cap")
        shown = json.loads(ok("tune", "--show", narrow, "--json", FOVEA_ISA="avx2"))
        check(shown["in_force"] and not json.loads(ok("tune", "--show", narrow, "--json"))["in_force"], "in force")
        check("another ISA cap" in ok("tune", "--show", narrow) and
              "B is for another ISA cap" in ok("tune", "--diff", other, narrow), "whose defaults")
        refused("another ISA cap", "tune", "--level", "estimate", "--output", other, FOVEA_ISA="avx2")
        ok("tune", "--level", "estimate", "--output", other, "--force", FOVEA_ISA="avx2")
        ok("tune", "--level", "estimate", "--output", other, "--force")
    for bad, why in (("all", "it is CLASS."), ("all.kc", "it is CLASS."), ("all.kc=0", "kc is a whole number from"),
                     ("some-far-nt.kc=-1", "kc is a whole number from"), ("border.near=0", "near is a whole number"),
                     ("nonesuch.kc=1", 'no class "nonesuch"'), ("all.speed=9", "class few-near-packed has no number"),
                     ("heads-64.kernel=" + scalar, "class heads-64 has no"), ("all.kernel=nonesuch", "class few-near-"),
                     ("border.kernel=" + scalar, "class border has no"), ("softmax.kernel=" + scalar, "class softmax")):
        refused(f"--set {bad}: {why}", "tune", "--level", "estimate", "--output", other, "--set", bad)


def test_run(folder):
    path, report = os.path.join(folder, "run"), os.path.join(folder, "report.html")
    for budget in "20" if SMALL else "6", "60":  # on busy cores 2 s are over before the first class is
        result = fovea("tune", "--level", "quick", "--budget", budget, "--output", path, "--json")
        check(result.returncode == 0 and "classes searched" in result.stderr, result.stderr)
        if os.path.exists(path):
            break
    result = fovea("tune", "--level", "quick", "--budget", "90", "--only", "few-near", "--output", path, "--report",
                   report, "--json")
    check(result.returncode == 0 and (SMALL or "3 of 3 classes searched" in result.stderr), result.stderr)
    check("tune:  0/3 gemm few-near-" in result.stderr or SMALL, result.stderr)
    data = json.loads(result.stdout)
    check(data["level"] == "quick" and data["quarantine"] == {}, data["quarantine"])
    for c in data["classes"]:
        check(not c["tuned"] or (c["gain"] >= 1.0149 and c["p"] < 0.01 and c["low"] <= c["gain"] <= c["high"]), c)
    with open(report) as file:
        page = file.read()
    html.parser.HTMLParser().feed(page)
    check("<svg" in page or SMALL, "the page shows no plot")
    check(not re.search(r"(src|href)=|<script|@import|url\(", page), "the page needs other files")
    check(ok("run", "g2p", "--model", MODEL, "hello", FOVEA_PROFILE=path) ==
          ok("run", "g2p", "--model", MODEL, "hello", FOVEA_PROFILE="none"), "words under a profile")
    # A lower level does not replace a higher one, and what is asked of another CPU is not for this one.
    refused("--force replaces it", "tune", "--level", "estimate", "--output", path)
    check("nothing to do" in fovea("tune", "--level", "estimate", "--output", path, "--if-needed").stderr, "not enough")
    ok("tune", "--level", "estimate", "--output", path, "--force")
    check("nothing to do" not in fovea("tune", "--level", "estimate", "--output", path, "--if-needed",
                                       FOVEA_CACHES="16K,256K,4M").stderr, "enough for other caches")
    refused("FOVEA_PIN is set", "tune", "--level", "estimate", "--output", path, FOVEA_PIN="gelu_f32_scalar")
    refused("without --force", "tune", "--output", path, "--if-needed", "--only", "gemm")
    ok("tune", "--level", "estimate", "--output", path, "--force")
    check("not for this ISA cap" in profile_line(FOVEA_PROFILE=path, FOVEA_ISA="scalar") or
          json.loads(ok("info", "--json"))["features"] == "", "a cap")
    check("other caches" in profile_line(FOVEA_PROFILE=path, FOVEA_CACHES="16K,256K,4M"), "lied-about caches")


def on_terminal(*arguments, columns=200):
    """What a run says on stderr where that is a terminal of so many columns."""
    ours, its = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=its, check=True)
    child = subprocess.Popen([*PROGRAM, *arguments], env=environment(HOME=HOME), stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    said = b""
    try:
        while part := os.read(ours, 1 << 16):
            said += part
    except OSError:  # Linux: nobody has the other end any more
        pass
    os.close(ours)
    check(child.wait(timeout=300) == 0, arguments, said)
    return said.decode()


def test_progress(folder):
    """A bar on a terminal, and nothing but the end with --quiet."""
    few = ["tune", "--level", "quick", "--budget", "30", "--only", "few-near", "--output", os.path.join(folder, "bar")]
    bar = r"\[[# ]{24}\] gemm few-near-\w+, [\w ]+.*, best \d+\.\d{3}x, \d+ s left"
    for columns in 200, 80:
        _, *bars, end = on_terminal(*few, columns=columns).split("\r\x1b[K")
        check(bars and all(re.fullmatch(bar, b) and len(b) < columns for b in bars) and "searched in" in end, bars, end)
    _, *words, _ = on_terminal(*few, columns=40).split("\r\x1b[K")
    check(words and all(re.match(r"gemm few-near-\w+.*, best \d", w) and len(w) < 40 for w in words), "narrow", words)
    for text in on_terminal(*few, "--quiet"), fovea(*few, "--quiet").stderr:
        check("candidates" not in text and "3 of 3 classes searched" in text and "wrote " in text, text)


def test_no_time(folder):
    """A budget that is over at once finds nothing, writes nothing, and keeps the level of what is there."""
    path = os.path.join(folder, "no time")
    result = fovea("tune", "--budget", "0.001", "--output", path)
    check(result.returncode == 0 and "nothing was searched" in result.stderr, result.stderr)
    check(not os.path.exists(path), "a profile of nothing")
    ok("tune", "--level", "estimate", "--output", path)
    result = fovea("tune", "--budget", "0.001", "--output", path)
    check(result.returncode == 0 and json.loads(ok("tune", "--show", path, "--json"))["level"] == "estimate", result)


def test_verify(folder):
    path = os.path.join(folder, "verify")
    ok("verify", "--quiet", "--cases=1", "--quarantine=" + path)
    check(not os.path.exists(path), "nothing differs, and nothing is written")


def test_refusals(folder):
    refused("--level takes", "tune", "--level", "fast")
    for seconds in ("0", "soon", "50%"):
        refused("--budget takes", "tune", "--budget", seconds)
    refused("unknown option", "tune", "--fast", "1")
    refused("nonesuch", "tune", "--from", "/nonesuch", "--output", folder + "/x")
    for wrong in (["gemm"], ["fft", "1x2x3"]):
        refused("--help lists the forms", "tune", "--explain", *wrong)
    refused("--only nonesuch: no class", "tune", "--only", "nonesuch")
    for nothing in ([""], []):
        refused("--output wants a value", "tune", "--output", *nothing)
    started = time.monotonic()
    refused("page.html: No such file", "tune", "--report", "/nonesuch/page.html", "--output", folder + "/x")
    config = os.path.join(folder, "no config")
    refused("page.html: No such file", "tune", "--report", "/nonesuch/page.html", XDG_CONFIG_HOME=config)
    refused("--report wants a file", "tune", "--report", "-", "--output", folder + "/x")
    refused("x: the profile goes there", "tune", "--report", folder + "/./x", "--output", folder + "/x")
    refused("--output wants a file", "tune", "--level", "estimate", "--output", "-")
    refused("--quarantine wants a file", "verify", "--cases", "1", "--quarantine=-")
    check(not os.path.exists(config), "a folder of a run that wrote nothing")
    ok("tune", "--level", "estimate", XDG_CONFIG_HOME=config)
    check(os.path.exists(config + "/fovea/profile"), "a folder is made for what is written")
    refused("cannot be written", "tune", "--output", "/nonesuch/x")
    refused("cannot be written: Is a directory", "tune", "--output", folder)
    check(time.monotonic() - started < 20 and not os.path.exists("/nonesuch"), "said late, or a folder was made")
    for sizes in [" 1x5x5", "1x5x5 ", *"12 -1x5x5 1x-5x5 1x5 1x5x5x5x5 1x+5x5 1x5x18446744073709551616".split()]:
        refused("--explain gemm takes [Bx]MxNxK", "tune", "--explain", "gemm", sizes)
    refused("do not fit in memory", "tune", "--explain", "gemm", "9223372036854775807x3x2")
    refused("sizes that overflow", "tune", "--explain", "attention", "1,1,1,18446744073709551615,1,64")
    for says, sizes in (("takes B,H", "1,8,8,16,16,-64"), ("no multiple", "1,3,2,5,5,64"), ("0 key", "1,4,0,5,5,64")):
        refused(says, "tune", "--explain", "attention", sizes, "decode")
    refused("--threads takes", "tune", "--explain", "gemm", "1x5x5", "--threads", "0")
    check(ok("tune", "--explain", "-h").startswith("usage: fovea tune --explain"), "-h")
    refused("--show comes first", "tune", "--json", "--show")
    refused("--explain comes first", "tune", "--threads", "2", "--explain", "gemm", "1x1x1")
    refused("--system and --output", "tune", "--system", "--output", folder + "/x")
    refused("FOVEA_PROFILE names none", "tune", "--level", "estimate", FOVEA_PROFILE="none")
    refused("cannot be written", "verify", "--cases", "1", "--quarantine=/nonesuch/q")
    refused("two places", "verify", "--cases", "1", "--quarantine=/nonesuch/q", "--system")
    os.mkdir(closed := os.path.join(folder, "closed"), 0o555)
    if os.geteuid() != 0:
        refused("cannot be written: Permission denied", "tune", HOME=closed)
    refused("profile is below HOME, which does not exist: give --output FILE", "tune", HOME=(none := folder + "/n"))
    refused("give --quarantine=FILE or set XDG_CONFIG_HOME", "verify", "--quarantine", HOME=none)
    check(not os.path.exists(none), "HOME was made")
    refused("--set all.kc=+5", "tune", "--level", "estimate", "--output", folder + "/x", "--set", "all.kc=+5")
    refused("cannot be written", "tune", "--level", "estimate", "--output", "/proc/x/y")
    refused("FOVEA_CACHES", "info", FOVEA_CACHES="big")
    refused("FOVEA_CACHES=1M,32K: L1, the first, is larger than L2", "info", FOVEA_CACHES="1M,32K")
    check(profile_line(FOVEA_CACHES="64K,64K"), "as large as L2")
    for options in (["--pairs", "3"], ["--best", "0"], ["--fast"], ["--profile", "/nonesuch"]):
        refused("bench", "bench", "tune", *options)
    check(ok("tune", "--help").startswith("usage: fovea tune") and
          ok("bench", "tune", "--help").startswith("usage: fovea bench tune"), "--help")


def install(prefix, **more):
    places = {"HOME": HOME, "FOVEA_PROFILE": os.path.join(HOME, "installs")}
    result = run([CMAKE, "--install", BUILD, "--prefix", prefix, "--component", "Tools"], {**places, **more})
    check(result.returncode == 0, result.stdout, result.stderr)
    return result.stdout + result.stderr


def test_install(folder):
    """What is installed; and the scripts that --install runs, the one always, the other where it is asked for."""
    prefix = os.path.join(folder, "a prefix")
    text = install(prefix)
    emulated = len(PROGRAM) > 1
    check("hold their bounds" in text or emulated, "not verified", text)
    stage = os.path.join(folder, "stage")
    check("fovea verify: not run, DESTDIR" in install("/opt/fovea", DESTDIR=stage), "verified for another machine")
    for root, place in (("", prefix), (stage, "/opt/fovea")):
        with open(root + place + "/lib/systemd/system/fovea-tune.service") as file:
            unit = file.read()
        check("ConditionPathExists=|!/var/lib/fovea/profile" in unit and "@" not in unit, unit)
        program = place + "/bin/fovea"
        check(f'ExecStart="{program}" tune --system ' in unit and os.path.exists(root + program), unit)
    check("fovea tune" not in text, "tuned without being asked to")
    hook = [CMAKE, "-DCMAKE_INSTALL_PREFIX=" + prefix, "-P", os.path.join(BUILD, "tune_on_install.cmake")]
    path = os.path.join(folder, "hook")
    result = run(hook, {"HOME": HOME, "DESTDIR": "/stage", "FOVEA_PROFILE": path})
    check(result.returncode == 0 and "not run" in result.stdout and not os.path.exists(path), "DESTDIR", result)
    result = run(hook, {"HOME": HOME, "FOVEA_PROFILE": path})
    written = os.path.exists(path) or "nothing was searched" in result.stderr
    check(result.returncode == 0 and written != emulated, "the hook", result)
    check(("not run, this is a cross build" in result.stdout) == emulated, "a cross build", result)


with tempfile.TemporaryDirectory() as HOME, tempfile.TemporaryDirectory() as work:
    MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/g2p/g2p.safetensors")
    test_estimate(work)
    test_set(work)
    test_run(work)
    test_refusals(work)
    if not SMALL:
        test_progress(work)
        test_no_time(work)
        test_verify(work)
    if BUILD != "-":
        test_install(work)
finish()
