# SPDX-License-Identifier: Apache-2.0
"""fovea history report from outside: reports in, a page out, its figures read back; what it refuses leaves nothing.

The step of docs/ci.md that keeps, checks and draws is run as it stands there.

usage: report.py SOURCE_DIR PROGRAM
"""
import base64
import hashlib
import html
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from program import check, check_refused, finish, run  # noqa: E402

SOURCE, PROGRAM = sys.argv[1:3]
RUNS, REPETITIONS, STEP, DISTURBED = 40, 5, 28, 12


def history(*arguments, **options):
    return run([PROGRAM, "history", *arguments], **options)


def refused(must_say, *arguments):
    check_refused(history("report", *arguments), must_say)


def unpack(text, step):
    """A column as history/page_data.h describes it."""
    numbers, total, number, scale = [], 0, 0, 0
    for byte in base64.b64decode(text):
        number |= (byte & 127) << scale
        scale += 7
        if byte < 128:
            total += -(number + 1) // 2 if number % 2 else number // 2
            numbers.append(total * step)
            number = scale = 0
    return numbers


def make_reports(folder):
    """RUNS reports of three benchmarks; the second one takes 20 % more time from run STEP on, one is DISTURBED."""
    rng, medians, paths = random.Random(7), {}, []
    for run in range(RUNS):
        lines = []
        for index, name in enumerate(("steady/64", "slower/<64>", "whole/1")):
            base = 1e4 * (index + 1) * (1.2 if index == 1 and run >= STEP else 1)
            times = [base * rng.gauss(1, 0.01) for _ in range(REPETITIONS)]
            medians.setdefault(name, []).append(sorted(times)[REPETITIONS // 2] * 1e-9)
            lines += [{"name": name, "run_name": name, "run_type": "iteration", "repetitions": REPETITIONS,
                       "repetition_index": i, "threads": 1, "iterations": 100, "real_time": time, "cpu_time": time,
                       "time_unit": "ns", "of_peak": 5e3 / time,
                       "calm": float(index > 0 or run != DISTURBED)} for i, time in enumerate(times)]
        context = {"date": f"2026-0{run // 28 + 1}-{run % 28 + 1:02d}T10:00:00+00:00", "host_name": "lab",
                   "num_cpus": 2, "mhz_per_cpu": 2500, "library_build_type": "release", "commit": f"c{run:03d}"}
        paths.append(folder / f"{run:03d}.json")
        paths[-1].write_text(json.dumps({"context": context, "benchmarks": lines}))
    return paths, medians


def check_policy(page):
    """The policy lets run what is there and nothing else; nothing is loaded."""
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1))
    check(policy.startswith("default-src 'none'; ") and "unsafe" not in policy, policy)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    for kind, texts in (("script", scripts), ("style", re.findall(r"<style>(.*?)</style>", page, re.S))):
        listed = re.search(rf"{kind}-src ([^;]*);", policy).group(1).split()
        found = ["'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        check(sorted(listed) == sorted(found) and found, kind, listed, found)
    outside = re.sub(r"<script\b.*?</script>", "", page, flags=re.S)
    loads = r'(src|srcset|action|data|style|\son\w+)="|@import|url\(|<(img|iframe|object|embed|base)\b'
    check(not re.search(loads, outside), "something to load or to run")
    links = re.findall(r'href="([^"]*)"', outside)
    check(all(link.startswith(("#", "data:image/svg+xml,")) for link in links), links)


def check_data(page, medians):
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
    check((data["runs"]["count"], data["machines"], data["branches"]) == (RUNS, ["lab"], ["main"]), data["machines"])
    facts = {fact["name"]: [fact["values"][int(i)] for i in unpack(fact["of"], 1)] for fact in data["runs"]["facts"]
             if -1 not in unpack(fact["of"], 1)}
    check(facts["commit"] == [f"c{run:03d}" for run in range(RUNS)], facts["commit"])
    check(len(data["axes"]) == 1 and unpack(data["axes"][0], 1) == list(range(RUNS)), data["axes"])
    for row in data["rows"]:
        lines = data["series"][row["first"]:row["first"] + row["count"]]
        time = next(line for line in lines if data["metrics"][line["metric"]]["name"] == "real_time")
        values = unpack(time["value"], time["step"])
        truth = medians[row["benchmark"]]
        check(len(values) == RUNS and max(abs(v - t) for v, t in zip(values, truth)) <= 0.51 * time["step"], row)
        check(time["step"] <= 1e-4 * max(truth), time["step"])
        out = [DISTURBED] if row["benchmark"] == "steady/64" else []
        check(unpack(time.get("disturbed", ""), 1) == out, row, time.get("disturbed"))
        low = unpack(time["low"], 4 * time["step"])
        check(len(low) == RUNS and min(low) >= 0 and max(low) > 0, low)
    check(data["rows"][0]["benchmark"] == "slower/<64>", "worst first")


def check_recipe(folder, paths):
    """A run like those before it passes, one of the new level is told; a branch may have any name."""
    text = (pathlib.Path(SOURCE) / "docs/ci.md").read_text()
    step = re.search(r"- name: Keep, check, draw\n.*?run: \|\n(.*?)\n\n      - ", text, re.S).group(1)
    work, home = folder / "ci", folder / "home"
    work.mkdir()
    (home / "fovea").mkdir(parents=True)
    (home / "fovea" / "fovea").symlink_to(os.path.abspath(PROGRAM))
    told = {}
    for count, branch in ((3, "main"), (STEP, "main"), (STEP + 6, "a $(touch broken) 'b'")):
        before = ["import", "--db", str(work / "perf.db"), "--machine", "m"]
        history(*before, *map(str, paths[:min(count, STEP) - 1]))
        history(*before, "--branch", branch, *map(str, paths[STEP:count - 1]))
        (work / "run.json").write_text(paths[count - 1].read_text())
        files = {name: str(folder / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        environment = {**os.environ, **files, "HOME": str(home), "MACHINE": "m", "BRANCH": branch,
                       "COMMIT": f"c{count - 1:03d}", "COMMITS": "https://x/"}
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", re.sub(r"(?m)^ {10}", "", step)], cwd=work,
                              env=environment, capture_output=True, text=True)
        check(done.returncode == 0, done)
        told[count] = done.stdout
        check((work / "performance.html").stat().st_size > 50000, "a page")
    check("::notice::too few" in told[3] and "::" not in told[STEP] and "::warning::" in told[STEP + 6], told)
    check("status=1" in (folder / "GITHUB_OUTPUT").read_text(), "the gate")
    check("slower/" in (folder / "GITHUB_STEP_SUMMARY").read_text(), "the summary")
    left = sorted(path.name for path in work.iterdir() if "perf.db" not in path.name)
    check(left == ["check.txt", "performance.html", "run.json"], left)


def main():
    check(history("report", "--help").stdout.startswith("usage: fovea history report"), "--help")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths, medians = make_reports(folder)
        database, page_path = str(folder / "h.db"), folder / "page.html"
        refused("no.db", "--db", str(folder / "no.db"), "-o", str(page_path))
        done = history("import", "--db", database, *map(str, paths))
        check(done.returncode == 0, done)
        done = history("report", "--db", database, "-o", str(page_path))
        check(done.returncode == 0 and done.stdout == "" and done.stderr == "", done)
        page = page_path.read_text()
        check_policy(page)
        check_data(page, medians)
        check(re.search(r'<tr class="worse" data-row="0".*?slower/.*?after <code>c027</code>.*?'
                        r'in <code>c028</code>.*?12 runs so far', page, re.S), "the first row")
        mask = os.umask(0o22)
        os.umask(mask)
        check(page_path.stat().st_mode & 0o777 == 0o666 & ~mask, "rights")
        link = folder / "link.html"
        link.symlink_to(page_path.name)
        page_path.write_text("old")
        page_path.chmod(0o600)
        done = history("report", "--db", database, "-o", str(link))
        check(done.returncode == 0 and link.is_symlink() and page_path.read_text() == page, "a link stays a link")
        check(page_path.stat().st_mode & 0o777 == 0o600, "what only its owner read stays so")
        link.unlink()

        printed = history("report", "--db", database, "-o", "-", "--last", "7", "--filter", "steady", "--metric",
                          "^real_time$", "--title", "a <b>", "--commit-url", "https://example.org/?c=1&d=").stdout
        check("<title>a &lt;b&gt;</title>" in printed and '"count":7' in printed, "title and last")
        check("slower/" not in printed and "cpu_time" not in re.search('"metrics":.*', printed).group(0), "filters")
        printed = history("report", "--db", database, "-o", "-", "--disturbed").stdout
        check("1 disturbed</small>" in page and "disturbed</small>" not in printed, "judged by wish")
        printed = history("report", "--db", database, "-o", "-", "--commit-url", "https://example.org/?c=1&d=").stdout
        check('data-commits="https://example.org/?c=1&amp;d="' in printed, "commits")

        before = sorted(os.listdir(folder))
        refused("No such file", "--db", database, "-o", str(folder / "no" / "page.html"))
        refused("No space", "--db", database, "-o", "/dev/full")
        for same in database, f"{folder}/./h.db":
            refused("it is the database", "--db", database, "-o", same)
        refused("-o FILE is missing", "--db", database)
        refused("no option", "--db", database, "-o", str(page_path), "extra")
        refused("--last", "--db", database, "-o", str(page_path), "--last", "some")
        refused("--commit-url", "--db", database, "-o", str(page_path), "--commit-url", "javascript:alert(1)")
        refused("unknown option", "--db", database, "-o", str(page_path), "--fast")
        check(sorted(os.listdir(folder)) == before and page_path.read_text() == page, "nothing left, nothing lost")
        check_recipe(folder, paths)


main()
finish()
