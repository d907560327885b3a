# SPDX-License-Identifier: Apache-2.0
"""fovea history from outside: import, check, acknowledge, compare, and fovea bench --history.

usage: cli.py built|absent bench|nobench PROGRAM...
"""
import json
import os
import pathlib
import random
import resource
import sqlite3
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, run  # noqa: E402

BUILT, BENCH, PROGRAM = sys.argv[1] == "built", sys.argv[2] == "bench", sys.argv[3:]

def fovea(*arguments, code=0, **variables):
    result = run([*PROGRAM, *arguments], variables)
    check(result.returncode == code, arguments, result)
    return result


def refused(says, *arguments):
    check_refused(run([*PROGRAM, *arguments]), says)


def entry(name, nanoseconds, index, **counters):
    return {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": index, "iterations": 10,
            "threads": 1, "real_time": nanoseconds, "cpu_time": nanoseconds, "time_unit": "ns", **counters}


def report(run, slow=1.0, repetitions=5, instructions=1000, **remarks):
    """Benchmarks a and b in noise of 1 %, one counter, an aggregate, one that failed; b becomes `slow`."""
    rng = random.Random(run)
    lines = []
    for name, factor in (("a", 1), ("b", slow)):
        level = factor * (1 + 0.01 * rng.gauss(0, 1))
        for i in range(repetitions):
            time = 1000 * level * (1 + 0.003 * rng.gauss(0, 1))
            lines.append(entry(name, time, i, gflops=1e3 / time, instructions=instructions, odd=float("nan"), far=1e60,
                               **remarks))
        lines.append({**entry(name + "_mean", 1e9, 0), "run_type": "aggregate", "aggregate_name": "mean"})
    lines.append({"name": "c", "run_type": "iteration", "error_occurred": True, "error_message": "no"})
    context = {"date": f"2026-01-{1 + run // 24:02}T{run % 24:02}:00:00+00:00", "host_name": "host", "num_cpus": 2,
               "caches": [{"type": "Data", "level": 1, "size": 32768, "num_sharing": 1}], "load_avg": [0.5, 0.25]}
    return {"context": context, "benchmarks": lines}


def write(path, value):
    path.write_text(json.dumps(value))
    return path


def rows(db, query):
    connection = sqlite3.connect(db)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_import(folder):
    db, one, two = folder / "import.db", write(folder / "1.json", report(1)), write(folder / "2.json", report(2))
    check("run 1, 8 series, 40 values" in fovea("history", "import", "--db", db, "--commit", "c1", "--fact", "note=hot",
                                                one).stdout, "first")
    check("already there as run 1" in fovea("history", "import", "--db", db, "--commit", "c1", "--fact", "note=hot",
                                            one).stdout, "again")
    check(rows(db, "SELECT count(*) FROM run") == [(1,)], "one run")
    facts = dict(rows(db, "SELECT name, value FROM fact"))
    check(facts["l1d_bytes"] == "32768" and facts["note"] == "hot" and facts["load_avg"] == "0.5,0.25", facts)
    check(rows(db, "SELECT DISTINCT metric FROM series ORDER BY 1") ==
          [("cpu_time",), ("gflops",), ("instructions",), ("real_time",)], "metrics, without what is not finite")
    values = [value for value, in rows(db, "SELECT value FROM sample JOIN series ON series.id = series "
                                           "WHERE benchmark = 'a' AND metric = 'real_time' ORDER BY repetition")]
    wanted = [line["real_time"] * 1e-9 for line in report(1)["benchmarks"] if line["name"] == "a"]
    check(len(values) == 5 and all(abs(v / w - 1) < 1e-12 for v, w in zip(values, wanted)), values, wanted)
    check(rows(db, "PRAGMA journal_mode") == [("wal",)], "write-ahead logging")

    # Whatever is wrong with one file, nothing is imported, not even of the good ones beside it.
    text = two.read_text()
    bad = {"cut.json": text[:len(text) // 2], "empty.json": "", "list.json": "[1, 2]", "foreign.json": '{"name": "x"}',
           "text.json": "hello", "zip.json": "PK\x03\x04", "none.json": '{"context": {}, "benchmarks": []}',
           "twice.json": '{"context": {}, "context": {}, "benchmarks": []}'}
    before = rows(db, "SELECT count(*) FROM run, sample")
    for name, content in bad.items():
        (folder / name).write_text(content)
        refused(name, "history", "import", "--db", db, "--commit", "c", two, folder / name)
        refused(name, "history", "import", "--db", folder / "new.db", "--commit", "c", folder / name)
    # A reason is one line that no terminal obeys, whatever of the file it repeats.
    odd = {'{"a\\\n': "invalid escape near '\"a\\?'", "{\x1b[31m": "near '?'", "{\x7f": "near '?'"}
    for content, says in odd.items():
        (folder / "odd.json").write_text(content)
        refused(says, "history", "import", "--db", db, "--commit", "c", folder / "odd.json")
    # Nor are names that check and compare would print.
    lines = report(2)["benchmarks"]
    for line in {**lines[0], "run_name": "a\x1b]0;x\a"}, {**lines[0], "rate\n": 1}:
        named = write(folder / "odd.json", {**report(2), "benchmarks": [*lines, line]})
        refused("control characters", "history", "import", "--db", db, "--commit", "c", named)
    refused("control characters", "history", "import", "--db", db, "--commit", "c\x1b[2J", two)
    check(rows(db, "SELECT count(*) FROM run, sample") == before and not (folder / "new.db").exists(), "untouched")
    refused("No such file", "history", "import", "--db", db, "--commit", "c", folder / "nonesuch.json")
    refused("give --commit", "history", "import", "--db", db, two)
    refused("give --commit", "history", "import", "--db", folder / "never.db", two)
    check(not (folder / "never.db").exists(), "a refused import made a database")
    refused("--time takes", "history", "import", "--db", db, "--commit", "c", "--time", "soon", two)
    refused("NAME=VALUE", "history", "import", "--db", db, "--commit", "c", "--fact", "x", two)
    refused("not a database", "history", "import", "--db", one, "--commit", "c", two)
    check(json.loads(one.read_text()), "a report given as the database stays what it is")
    refused("no file", "history", "import", "--db", db)
    refused("unknown option", "history", "import", "--fast", one)
    # Every name is that of a file.
    for name in ":memory:", "file:x.db?mode=memory":
        program = [*PROGRAM[:-1], os.path.abspath(PROGRAM[-1])]
        result = run([*program, "history", "import", "--db", name, "--commit", "c", two], cwd=folder)
        check(result.returncode == 0 and rows(folder / name, "SELECT count(*) FROM run") == [(1,)], name, result)
    # A time is one that is given, also where it is the first of all.
    for when, seconds in (("1970-01-01", 0), ("1970-01-01T00:00:00+01:00", -3600), ("1970-01-01T00:00:01Z", 1)):
        fovea("history", "import", "--db", db, "--commit", when, "--time", when, two)
        check(rows(db, f"SELECT time FROM run WHERE commit_name = '{when}'") == [(seconds,)], when)
    result = fovea("history", "import", "--commit", "c2", one, FOVEA_HISTORY=str(folder / "named.db"))
    check("run 1" in result.stdout and "1 benchmarks of it failed" in result.stdout, result)


def test_full(folder):
    """Where a disk is full no database is made; one that is there keeps what it has. Here it is the size of a file."""
    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    path, made = write(folder / "full.json", report(1)), 0
    (folder / "link.db").symlink_to("full.db")
    for limit in (0, 4096, 20000, 50000, 1 << 24):
        for name in "full.db", "link.db":  # the link leads to it
            result = run([*PROGRAM, "history", "import", "--db", folder / name, "--commit", "c", path], preexec_fn=full,
                         restore_signals=False)  # SIGXFSZ is ignored, as Python does
            done = result.returncode == 0
            made += done
            check(done or result.returncode == 2 and not list(folder.glob("full.db*")), limit, result)
    check(made == 2 and (folder / "link.db").is_symlink() and rows(folder / "full.db", "SELECT count(*) FROM run") ==
          [(1,)], "an import that was not refused")
    limit = 0
    result = run([*PROGRAM, "history", "import", "--db", folder / "full.db", "--commit", "d", path], preexec_fn=full,
                 restore_signals=False)
    check(result.returncode == 2 and rows(folder / "full.db", "SELECT count(*) FROM run") == [(1,)], result)


def test_whole(folder):
    """Several reports, or the changes of several series, are one transaction: the last is refused, and none is in."""
    db, paths = folder / "whole.db", [write(folder / f"whole{i}.json", report(i)) for i in range(3)]
    fovea("history", "import", "--db", db, "--commit", "c", paths[0])
    rows(db, "CREATE TRIGGER full BEFORE INSERT ON run WHEN (SELECT count(*) FROM run) = 2 "
             "BEGIN SELECT raise(ABORT, 'full'); END")
    result = run([*PROGRAM, "history", "import", "--db", db, "--commit", "d", *paths])
    check_refused(result, "whole1.json: history: full")
    check(result.stdout == "" and rows(db, "SELECT count(*) FROM run") == [(1,)], result)
    rows(db, "DROP TRIGGER full")
    result = fovea("history", "import", "--db", db, "--commit", "d", *paths)
    check([line.split(": ")[1].split(",")[0] for line in result.stdout.splitlines() if "run " in line] ==
          ["run 2", "run 3", "run 4"], result)

    fill(folder, db, 30, 22, 1.08)
    rows(db, "CREATE TRIGGER full BEFORE INSERT ON acknowledgement WHEN (SELECT count(*) FROM acknowledgement) = 1 "
             "BEGIN SELECT raise(ABORT, 'full'); END")
    refused("acknowledge: history: full", "history", "acknowledge", "--db", db, "--commit", "c22", "--note", "x")
    check(rows(db, "SELECT count(*) FROM acknowledgement") == [(0,)], "half an acknowledgement")


def fill(folder, db, runs, slow_from, slow, branch="main", first=0, name="c{}", **more):
    for run in range(first, first + runs):
        path = write(folder / "run.json", report(run, slow if run >= slow_from else 1.0, **more))
        fovea("history", "import", "--db", db, "--commit", name.format(run), "--branch", branch, "--machine", "m", path)


def found(db, *arguments, code=0):
    return json.loads(fovea("history", "check", "--db", db, "--json", *arguments, code=code).stdout)


def test_check(folder):
    db = folder / "check.db"
    fill(folder, db, 5, 99, 1)
    check(found(db, code=3)["too_short"] == 4, "too little data")
    check(found(db, "--branch", "nobody", code=3)["judged"] == 0, "no run at all")
    fill(folder, db, 25, 22, 1.08, first=5)
    changes = found(db, code=1)
    check(changes["regressions"] == 1 and changes["judged"] == 4, changes)
    change = changes["changes"][0]
    check(change["benchmark"] == "b" and change["metric"] == "real_time" and change["kind"] == "regression" and
          change["good"] == "c21" and change["bad"] == "c22" and change["low"] < 0.08 < change["high"] and
          change["confidence"] >= 0.99, change)
    check(found(db, "--commit", "c21")["changes"] == [], "before it")
    check(found(db, "--filter", "^a$")["changes"] == [] and found(db, "--effect", "20%")["changes"] == [], "others")
    check(found(db, "--effect", "0.2")["changes"] == [], "a fraction")
    check(found(db, "--recent", "3")["changes"] == [], "long ago")
    text = fovea("history", "check", "--db", db, code=1).stdout
    check("c21..c22" in text and "1 regressions" in text and "b real_time" in text, text)

    # A change of instructions is one at once, and one that is known stays quiet.
    fill(folder, db, 1, 0, 1.08, first=30, instructions=1100)
    check([c["metric"] for c in found(db, code=1)["changes"]] == ["instructions", "instructions", "real_time"], "first")
    fovea("history", "acknowledge", "--db", db, "--commit", "c22", "--note", "wanted", "--metric", "real_time")
    fovea("history", "acknowledge", "--db", db, "--commit", "c30", "--note", "wanted")
    changes = found(db)
    check(changes["regressions"] == 0 and len(changes["changes"]) == 3 and
          {c["kind"] for c in changes["changes"]} == {"acknowledged"}, changes)
    check("[acknowledged]" in fovea("history", "check", "--db", db, "--all").stdout, "--all")

    # A branch against the one it came from: a single run far outside is enough.
    fill(folder, db, 1, 0, 1.5, branch="wide", first=31, instructions=1100)
    changes = found(db, "--branch", "wide", "--baseline", "main", code=1)
    check(len(changes["changes"]) == 1 and changes["changes"][0]["jump"] and changes["changes"][0]["bad"] == "c31",
          "what changed before the branch is not its affair", changes)
    check(found(db, "--branch", "wide", code=3)["judged"] == 0, "alone it is too short")

    # What is known on the baseline is known on a branch that begins just behind it.
    known = folder / "known.db"
    fill(folder, known, 30, 28, 1.3)
    fovea("history", "acknowledge", "--db", known, "--commit", "c28", "--note", "wanted")
    fill(folder, known, 1, 0, 1.3, branch="just", first=30)
    changes = found(known, "--branch", "just", "--baseline", "main")
    check([(c["kind"], c["bad"]) for c in changes["changes"]] == [("acknowledged", "c28")], changes)

    refused("no run of commit nonesuch", "history", "check", "--db", db, "--commit", "nonesuch")
    refused("nonesuch.db: unable to open", "history", "check", "--db", folder / "nonesuch.db")
    refused("FOVEA_HISTORY", "history", "check", f"--db={folder / 'nonesuch.db'}")
    refused("no regular expression", "history", "check", "--db", db, "--filter", "(")
    refused("--effect takes", "history", "check", "--db", db, "--effect", "much")
    for command in "check", "compare":
        refused("or a fraction below 1, not \"5\"", "history", command, "--effect", "5", "a", "b")
    refused("no series changes", "history", "acknowledge", "--db", db, "--commit", "c3", "--note", "x")
    refused("wants --commit and --note", "history", "acknowledge", "--db", db)
    (folder / "empty.db").touch()
    refused("empty database", "history", "check", "--db", folder / "empty.db")


def test_commits(folder):
    """A hash may be shortened as check prints it; the newest commit is acknowledged where it changes something."""
    db, name = folder / "commits.db", "ab{0:02d}" + "cd{0:02d}" * 9
    fill(folder, db, 20, 99, 1, name=name)
    refused("no series changes", "history", "acknowledge", "--db", db, "--commit", "ab19cd", "--note", "x")
    fill(folder, db, 1, 0, 1.5, first=20, name=name)
    text = fovea("history", "check", "--db", db, code=1).stdout
    check("ab19cd19cd19..ab20cd20cd20 " in text, text)
    check(found(db, "--commit", "ab19")["regressions"] == 0, "before it")
    refused("no run of commit ab2 ", "history", "check", "--db", db, "--commit", "ab2")
    fill(folder, db, 1, 0, 1.5, first=21, name="ab20ff" + "0" * 34)
    refused("several commits begin with ab20", "history", "compare", "--db", db, "ab19cd", "ab20")
    fovea("history", "compare", "--db", db, "ab19cd", "ab20cd", code=1)
    told = fovea("history", "acknowledge", "--db", db, "--commit", "ab20cd20cd20", "--note", "wanted",
                  "--metric", "real_time|instructions").stdout
    check(told == "1 series\n" and found(db)["regressions"] == 0, told)


def test_damaged(folder):
    """A damaged database is called so, or gives what is left of it; memory is not what it lacks."""
    whole, db = folder / "whole_book.db", folder / "damaged.db"
    fill(folder, whole, 12, 99, 1)
    content, rng = whole.read_bytes(), random.Random(1)
    size = int.from_bytes(content[16:18], "big")
    for page in range(1, len(content) // size):
        db.write_bytes(content[:page * size] + rng.randbytes(size) + content[(page + 1) * size:])
        for part in (["check"], ["report", "-o", folder / "damaged.html"]):
            result = run([*PROGRAM, "history", *part, "--db", db])
            check(result.returncode in (0, 1, 2, 3) and "no memory" not in result.stderr, page, result)
    db.write_bytes(content)
    connection = sqlite3.connect(db)
    connection.executescript("ALTER TABLE point RENAME TO old; CREATE TABLE point AS SELECT * FROM old;"
                             "INSERT INTO point SELECT * FROM old WHERE run = 3")
    connection.close()
    refused("tables and indexes disagree", "history", "check", "--db", db)


def test_disturbed(folder):
    """What the bench itself marks as disturbed is no regression, unless instructions say so."""
    db = folder / "disturbed.db"
    fill(folder, db, 12, 99, 1, calm=0.8, stolen=0)
    fill(folder, db, 5, 0, 1.3, first=12, calm=0, stolen=0)
    changes = found(db)
    check(changes["changes"] == [] and changes["judged"] == 4 and changes["disturbed"] == 10 and
          changes["disturbed_newest"] == 2, changes)
    text = fovea("history", "check", "--db", db).stdout
    check("10 points left out that the bench marks as disturbed, 2 of them of the newest run: measure it" in text, text)
    check(found(db, "--disturbed", code=1)["regressions"] == 1, "all of them")
    check(found(db, "--commit", "c11")["disturbed"] == 0, "none before")
    beside = ["history", "compare", "--db", db, "--metric", "real_time", "c11", "c16"]
    left = fovea(*beside, code=3).stdout
    check("0 figures" in left and "2 figures left out that the bench marks as disturbed" in left, left)
    check(json.loads(fovea(*beside, "--json", "--disturbed", code=1).stdout)["worse"] == 1, "compared by wish")
    fill(folder, db, 1, 0, 1.3, first=17, calm=0.8, stolen=0.2, instructions=1100)
    changes = found(db, code=1)
    check([c["metric"] for c in changes["changes"]] == ["instructions"] * 2 and changes["disturbed"] == 12, changes)
    fill(folder, db, 3, 0, 1.3, first=18, calm=0.8, stolen=0.02, instructions=1100)
    changes = found(db, "--metric", "real_time", code=1)
    check(changes["changes"][0]["good"] == "c11" and changes["changes"][0]["bad"] == "c18", changes)

    # Somebody knows of it, and its own first point becomes a disturbed one: the next is taken for it.
    fovea("history", "acknowledge", "--db", db, "--commit", "c18", "--note", "wanted", "--metric", "real_time")
    connection = sqlite3.connect(db)
    connection.execute("UPDATE point SET median = 0 WHERE run = 19 AND series IN (SELECT id FROM series "
                       "WHERE metric = 'calm')")
    connection.commit()
    connection.close()
    fill(folder, db, 1, 0, 1.3, first=21, calm=0.8, stolen=0, instructions=1100)
    changes = found(db, "--metric", "real_time")
    check(changes["changes"][0]["kind"] == "acknowledged" and changes["changes"][0]["bad"] == "c19", changes)

    # Nothing but disturbed points: too little data.
    fill(folder, folder / "noise.db", 12, 99, 1, calm=0)
    check(found(folder / "noise.db", "--metric", "real_time", code=3)["too_short"] == 2, "all of them")


def test_compare(folder):
    db = folder / "check.db"
    slower = json.loads(fovea("history", "compare", "--db", db, "--json", "c10", "c25", code=1).stdout)
    lines = {(line["benchmark"], line["metric"]): line for line in slower["lines"]}
    worst = slower["lines"][0]
    check(slower["worse"] >= 1 and worst["benchmark"] == "b" and worst["metric"] == "real_time" and
          worst["p"] < 0.05 and worst["repetitions"] == [5, 5], worst)
    check(lines["a", "instructions"]["verdict"] == 0, lines)
    same = json.loads(fovea("history", "compare", "--db", db, "--json", "@3", "@3").stdout)
    check(same["worse"] == 0 and same["geomean"] == 1, same)
    fill(folder, folder / "few.db", 2, 99, 1, repetitions=2)
    fovea("history", "compare", "--db", folder / "few.db", "--metric", "real_time", "c0", "c1", code=3)
    zeros = folder / "zeros.db"
    for run, missed in enumerate((0, 0, 3)):
        path = write(folder / "run.json", report(run, missed=missed))
        fovea("history", "import", "--db", zeros, "--commit", f"z{run}", path)
    for new, change in (("z1", 0), ("z2", None)):
        found = json.loads(fovea("history", "compare", "--db", zeros, "--json", "--metric", "missed", "z0", new,
                                 code=3).stdout)
        check([line["change"] for line in found["lines"]] == [change, change], found)
    check("worse" in fovea("history", "compare", "--db", db, "c10", "c25", code=1).stdout, "table")
    refused("no run of nonesuch", "history", "compare", "--db", db, "c1", "nonesuch")
    refused("no run of @3x", "history", "compare", "--db", db, "@3", "@3x")
    refused("wants two", "history", "compare", "--db", db, "c1")


def test_bench(folder):
    db = folder / "bench.db"
    suite = ["bench", "gemm", "--shapes", "smoke", "--min-time", "0.001", "--filter", "20x80x48"]
    result = fovea(*suite, "--history", db, "--commit", "here", "--machine", "m", "--repetitions", "3",
                   "--instructions")
    check("run 1" in result.stdout and result.stderr == "", result)
    facts = dict(rows(db, "SELECT name, value FROM fact"))
    for name in ("cpu", "isa", "features", "l1d_bytes", "l2_bytes", "compiler", "flags", "profile", "load", "steal",
                 "fovea", "system", "threads"):
        check(name in facts, name, facts)
    check(rows(db, "SELECT commit_name, branch, machine.name FROM run JOIN machine ON machine.id = machine") ==
          [("here", "main", "m")], "labels")
    counts = dict(rows(db, "SELECT metric, count FROM point JOIN series ON series.id = series "
                           "WHERE benchmark = 'gemm/f32/packed/nt/20x80x48'"))
    check(counts["real_time"] == counts["of_peak"] == 3, counts)
    if "instructions" not in counts:
        print("instructions: not counted here: single steps are not allowed, or take too long")
    refused("wants --commit", *suite, "--history", db)
    refused("No such file", *suite, "--history", "/nonexistent/x.db", "--commit", "x", "--min-time", "100")  # at once
    refused("not a database", *suite, "--history", __file__, "--commit", "x", "--min-time", "100")
    refused("go with --history", *suite, "--commit", "x")
    before = db.read_bytes()
    refused("it is the database", *suite, "--history", db, "--commit", "x", "--report", f"{folder}/./bench.db")
    check(db.read_bytes() == before, "a picture in the place of the database")
    refused("give one of them", *suite, "--history", db, "--commit", "x", "--json")
    refused("--repetitions takes", *suite, "--history", db, "--commit", "x", "--repetitions", "many")
    refused("--commit wants a value", *suite, "--history", db, "--commit")


def main():
    if not BUILT:
        refused("not built in", "history", "check")
        refused("not built in" if BENCH else "", "bench", "gemm", "--history", "x.db", "--commit", "y")
        return
    check(fovea("history", "--help").stdout.startswith("usage: fovea history"), "--help")
    for part in ("import", "check", "compare", "report", "acknowledge"):
        text = fovea("history", part, "--help").stdout
        check(max(map(len, text.splitlines())) <= 80, "columns", text)
        check("examples" in text or part == "acknowledge", part)
        check(fovea("history", part, "-h").stdout == text == fovea("help", "history", part).stdout, part)
    refused('no part "guess"', "history", "guess")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        test_import(folder)
        test_full(folder)
        test_whole(folder)
        test_check(folder)
        test_commits(folder)
        test_damaged(folder)
        test_disturbed(folder)
        test_compare(folder)
        if BENCH:
            test_bench(folder)


main()
finish()
