# SPDX-License-Identifier: Apache-2.0
"""The fovea program from outside: what it prints, what it refuses, and how it ends.

usage: cli.py SOURCE_DIR PROGRAM...      (PROGRAM... may begin with an emulator)
"""
import json
import os
import pathlib
import re
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, run  # noqa: E402

SOURCE, PROGRAM = sys.argv[1], sys.argv[2:]
MODEL = os.path.join(SOURCE, "examples/g2p/g2p.safetensors")
SMALL = "FOVEA_TEST_SMALL" in os.environ
WORDS = ["hello", "transformer", "attention", "Kernel", "a"]


def fovea(*arguments, stdin="", **variables):
    return run([*PROGRAM, *arguments], variables, input=stdin)


def ok(*arguments, **more):
    """The output of a call that must succeed and say nothing on stderr."""
    result = fovea(*arguments, **more)
    check(result.returncode == 0 and result.stderr == "", arguments, result.returncode, result.stderr)
    return result.stdout


def refused(must_say, *arguments, output="", **more):
    """A call that must end with 2 and one line on stderr that says why."""
    check_refused(fovea(*arguments, **more), must_say, output)


def g2p(*arguments, **more):
    return ok("run", "g2p", "--model", MODEL, *arguments, **more)


def test_usage():
    for command in ([], ["info"], ["verify"], ["tune"], ["bench"], ["bench", "tune"], ["run"], ["run", "g2p"]):
        text = ok(*command, "--help")
        check(text.startswith(" ".join(["usage: fovea", *command])), command, text)
        check(ok(*command, "-h") == text and ok("help", *command) == text, command)
        check(max(map(len, text.splitlines())) <= 80, "columns", text)
    for command in (["tune", "--level"], ["bench", "gemm", "--filter"], ["verify", "--cases"]):
        check(ok("help", *command).startswith(f"usage: fovea {command[0]}"), "help behind an option", command)
    check(re.fullmatch(r"fovea \d+\.\d+\.\d+\n", ok("--version")) and ok("version") == ok("--version"), "version")
    for arguments in ([], ["run"]):
        result = fovea(*arguments)
        check(result.returncode == 2 and result.stderr.startswith("usage: fovea") and not result.stdout, arguments)
    check(ok("help", "help") == ok("help"), "help help")
    refused('version: unexpected argument "now"', "version", "now")
    refused('no command "frobnicate"', "frobnicate")
    refused('no command "frobnicate"', "help", "frobnicate")
    refused('no model "resnet"', "run", "resnet")
    refused('unknown option "--every"', "info", "--every")
    refused('unknown option "--every=1"', "info", "--every=1")
    refused("--all takes no value", "info", "--all=1")
    refused('unexpected argument "now"', "verify", "now")
    refused('unexpected argument "-1"', "verify", "-1")
    for value in (["--cases=0"], ["--cases", "0"], ["--cases=1000001"], ["--cases=18446744073709551617"], ["--cases="]):
        refused("--cases takes a whole number from 1 to 1000000", "verify", *value)
    refused("--cases wants a value", "verify", "--quiet", "--cases")
    refused('unknown option "--fast"', "run", "g2p", "--fast")
    for beam in ("0", "33", "x", "1.5", "-1", ""):
        refused("--beam takes a whole number from 1 to 32", "run", "g2p", "--beam", beam, "word")
    refused("--beam wants a value", "run", "g2p", "--beam")
    refused("--model wants a value", "run", "g2p", "word", "--model")
    refused("--split takes train, dev or test", "run", "g2p", "--eval", "--split", "all")
    for with_split in (["word"], ["--eval", "lexicon"], ["--eval=lexicon"]):
        refused("--split goes with --eval without FILE", "run", "g2p", "--split", "dev", *with_split)
    refused("takes a file and no words", "run", "g2p", "word", "--eval", "lexicon")
    refused("takes a file and no words", "run", "g2p", "word", "--eval=lexicon")


def test_environment():
    refused("no such ISA", "info", FOVEA_ISA="sse9")
    refused("no such ISA", "run", "g2p", "--model", MODEL, "a", FOVEA_ISA="AVX2")
    refused('FOVEA_PIN: no variant named "gemm_f32_9x9_avx9"; fovea info --all', "info", FOVEA_PIN="gemm_f32_9x9_avx9")
    refused('FOVEA_EXCLUDE: no variant named "x"', "info", FOVEA_EXCLUDE="x")
    refused("always stays", "info", FOVEA_EXCLUDE="relu_f32_scalar")
    refused("this CPU has", "info", FOVEA_ISA="neon" if "neon" not in isas() else "avx2")


def isas():
    features = json.loads(ok("info", "--json"))["features"]
    return ["scalar"] + [isa for isa in ("avx2", "avx512", "neon") if isa in features]


def test_info():
    for isa in isas():
        info = json.loads(ok("info", "--json", FOVEA_ISA=isa))
        text, short = ok("info", "--all", FOVEA_ISA=isa), ok("info", FOVEA_ISA=isa)
        check(f"fovea {info['version']}\n" in text and info["cache_source"] in text, isa)
        check(all(info[size] >= 0 for size in ("l1d_bytes", "l2_bytes", "l3_bytes")) and info["l1d_bytes"], info)
        chosen = [v for v in info["variants"] if v["chosen"]]
        slots = {v["slot"] for v in info["variants"]}
        check(sorted(v["slot"] for v in chosen) == sorted(slots), isa, "one variant of each slot", chosen)
        # "avx512" also uses kernels of AVX2 where a slot has none of its own.
        check(all(v["isa"] in isas()[:isas().index(isa) + 1] for v in chosen), isa, chosen)
        check(all(v["name"].endswith("_" + v["isa"]) and v["name"] in text and v["why"] in text
                  for v in info["variants"]), isa)
        check(all((v["name"] in short) == (v["chosen"] or v["also"]) for v in info["variants"]), isa, short)
    # The variants of a slot lie together.
    table = re.findall(r"^  ((\w+) +)(\w+_(?:scalar|avx2|avx512|neon) +[*+]?) \S", ok("info", "--all"), re.M)
    check(len({(len(slot), len(slot + name)) for slot, _, name in table}) == 1, "columns", table)
    order = [slot for _, slot, _ in table]
    starts = [slot for i, slot in enumerate(order) if i == 0 or slot != order[i - 1]]
    check(len(order) == len(info["variants"]) and len(starts) == len(set(starts)), starts)
    check("\n  settings  none\n" in ok("info") and json.loads(ok("info", "--json"))["settings"] == {}, "no settings")
    settings = {"FOVEA_ISA": "scalar", "FOVEA_CACHES": "32K,1M,32M", "FOVEA_NUM_THREADS": "2"}
    check("\n  settings  FOVEA_ISA=scalar FOVEA_CACHES=32K,1M,32M FOVEA_NUM_THREADS=2\n" in
          ok("info", FOVEA_PIN="", **settings), "settings")
    check(json.loads(ok("info", "--json", FOVEA_PIN="", **settings))["settings"] == settings, "settings in JSON")
    foreign = json.loads(ok("info", "--json", FOVEA_PROFILE="/none/ä\udcff\"\n"))  # a path that is no UTF-8
    check(foreign["settings"]["FOVEA_PROFILE"] == "/none/ä\ufffd\"\n", foreign["settings"])
    other = [v for v in info["variants"] if not v["chosen"] and v["isa"] != "scalar"]
    if other:
        pinned = json.loads(ok("info", "--json", FOVEA_PIN=other[0]["name"]))["variants"]
        check([v for v in pinned if v["name"] == other[0]["name"]][0]["chosen"], "pinning", other[0])


def test_verify():
    cases = "2" if SMALL else "20"
    output = ok("verify", f"--cases={cases}")
    variants = [v for v in json.loads(ok("info", "--json"))["variants"] if v["isa"] in isas()]
    for scalar, said in ((False, "bit-equal to scalar"), (True, "within its bound of float64")):
        names = {v["name"] for v in variants if (v["isa"] == "scalar") == scalar}
        lines = re.findall(rf"^  (\S+) +{said} \((\d+) cases\)$", output, re.M)
        check({name for name, _ in lines} == names, "every kernel is verified", said, output)
        check(all(count == cases for _, count in lines), output)
        held = rf"{len(names)} of the scalar path hold their bounds$" if scalar else \
            rf"^{len(names)} kernels equal the scalar path, "
        check(re.search(held, output, re.M), output)
    check(len(ok("verify", "--quiet", "--cases", "1").splitlines()) == 1, "--quiet")


def test_words():
    lines = g2p("--json", *WORDS)
    results = [json.loads(line) for line in lines.splitlines()]
    check([r["word"] for r in results] == WORDS, results)
    check(all(r["phones"] and r["log_prob"] <= 0 for r in results), results)
    text = "".join(f"{r['word']}\t{' '.join(r['phones'])}\n" for r in results)
    check(g2p(*WORDS) == text, "text and JSON agree")
    check(g2p(stdin=" ".join(WORDS[:2]) + "\n\n" + "\n".join(WORDS[2:])) == text, "words from a pipe")
    check(g2p(stdin="") == "", "no words")
    many = WORDS * (2 if SMALL else 30)
    check(g2p("--beam", "1", stdin="\n".join(many)) == g2p("--beam", "1", *many), "more words than a batch")
    check(g2p("--beam", "1", "HELLO").split("\t")[1] == g2p("--beam", "1", "hello").split("\t")[1], "case")
    with tempfile.TemporaryFile("w+") as file:
        file.write("\n".join(WORDS))
        file.seek(0)
        result = run([*PROGRAM, "run", "g2p", "--model", MODEL], stdin=file)
        check(result.stdout == text and result.stderr == "", "words from a file", result)
    folder = os.path.dirname(MODEL)
    check(ok("run", "g2p", "--json", *WORDS, FOVEA_DATA=folder) == lines, "weights in FOVEA_DATA")
    refused("no g2p.safetensors to read in FOVEA_DATA", "run", "g2p", "word", FOVEA_DATA=os.path.dirname(folder))
    return lines


def test_isas(lines):
    for isa in isas():
        check(g2p("--json", *WORDS, FOVEA_ISA=isa) == lines, isa, "gives other output")


def test_refused_words():
    run = ["run", "g2p", "--model", MODEL]
    for word in ("c3po", "naïve", "a-b", "under_score"):
        refused(f'"{word}": ', *run, word)
    refused("too long", *run, "a" * 200)
    refused('"": an empty word', *run, "")
    refused('"1": ', *run, "hello", "1", "attention", output=g2p("hello", "attention"))


def bfloat16(good):
    """A file of the same model in BF16, the upper halves of its numbers, and one in F32 with the same numbers."""
    begin = 8 + int.from_bytes(good[:8], "little")
    header, data = json.loads(good[8:begin]), good[begin:]
    wide, narrow = bytearray(data), bytearray(len(data) // 2)
    wide[0::4] = wide[1::4] = bytes(len(data) // 4)
    narrow[0::2], narrow[1::2] = data[2::4], data[3::4]
    for name, tensor in header.items():
        if name != "__metadata__":
            tensor.update(dtype="BF16", data_offsets=[at // 2 for at in tensor["data_offsets"]])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + narrow, good[:begin] + wide


def test_weights_of_16_bits():
    with open(MODEL, "rb") as file:
        files = bfloat16(file.read())
    with tempfile.TemporaryDirectory() as folder:
        lines = []
        for i, content in enumerate(files):
            path = os.path.join(folder, f"{i}.safetensors")
            with open(path, "wb") as file:
                file.write(content)
            lines.append(ok("run", "g2p", "--json", "--model", path, *WORDS))
        check(lines[0] == lines[1], "BF16 and the same numbers in F32 give", *lines)


def test_files():
    with open(MODEL, "rb") as file:
        good = file.read()
    header = 8 + int.from_bytes(good[:8], "little")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.safetensors")
        for size, why in ((0, "empty"), (5, "5 bytes"), (1000, "header of"), (header - 1, "header of"),
                          (header + 100, "outside"), (len(good) - 4, "outside")):
            with open(path, "wb") as file:
                file.write(good[:size])
            refused(path, "run", "g2p", "--model", path, "word")
            refused(why, "run", "g2p", "--model", path, "word")
        with open(path, "wb") as file:
            file.write(good.replace(b'"fovea.source_vocab"', b'"fovea.source_Vocab"'))
        refused("vocabular", "run", "g2p", "--model", path, "word")
        with open(path, "wb") as file:
            file.write(good.replace(b'"output.bias"', b'"output.gias"').replace(b'"output.weight"', b'"output.weighs"'))
        refused(f'{path}: tensor "output.weight" is missing', "run", "g2p", "--model", path, "word")
    refused("/nonexistent: cannot be opened: No such file", "run", "g2p", "--model", "/nonexistent", "word")
    refused("/: ", "run", "g2p", "--model", "/", "word")
    refused("cannot be opened: No such file", "run", "g2p", "--model", MODEL, "--eval", "/nonexistent")
    refused("cannot be opened", "run", "g2p", "--model=" + MODEL, "--eval=/nonexistent")
    refused("no entries", "run", "g2p", "--model", MODEL, "--eval", "/dev/null")
    refused("Is a directory", "run", "g2p", "--model", MODEL, "--eval", "/")


def test_eval():
    """A lexicon of the model's own answers, one of them spoilt, one with a second pronunciation that is right."""
    answers = {r["word"]: r["phones"] for r in map(json.loads, g2p("--json", "hello", "kernel", "tree", "word")
                                                   .splitlines())}
    spoilt = answers["tree"] + ["zh", "zh"]
    entries = [(word, phones) for word, phones in answers.items() if word != "tree"]
    entries += [("tree", spoilt), ("word", ["b"]), ("x-ray", ["b"]), ("a" * 100, ["b"])]
    with tempfile.NamedTemporaryFile("w", suffix=".out") as lexicon:
        lexicon.write("MNCL\n")
        for word, phones in entries:
            half = len(phones) // 2
            syllables = f"((({' '.join(phones[:half])}) 0) (({' '.join(phones[half:])}) 1))"
            lexicon.write(f'("{word}" nil {syllables})\n')
        lexicon.flush()
        result = json.loads(g2p("--eval", lexicon.name, "--json"))
        text = g2p("--eval", lexicon.name)
    length = sum(len(phones) for word, phones in answers.items()) + 2
    check(result["words"] == 4 and result["refused"] == 1 and result["beam"] == 5, result)
    check(abs(result["wer"] - 25) < 1e-3 and abs(result["per"] - 200 / length) < 1e-3, result)
    check("4 words, beam 5: WER 25.00 %" in text, text)


test_usage()
test_environment()
test_info()
test_verify()
test_isas(test_words())
test_refused_words()
test_weights_of_16_bits()
test_files()
test_eval()
finish()
