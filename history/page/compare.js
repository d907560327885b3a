// SPDX-License-Identifier: Apache-2.0
// history/page/compare.js - two runs beside one another: every benchmark of both, their ratio, what else was different.

// Runs of the chosen machine and branch; of all of them where none is chosen.
function runsInPlace() {
    const runs = [];
    for (let run = 0; run < DATA.runs.count; run++)
        if (
            (!state.machine || fact(run, MACHINE) === state.machine) &&
            (!state.branch || fact(run, BRANCH) === state.branch)
        )
            runs.push(run);
    return runs;
}

// What a series has of a run: its value, and half of its band as a fraction of it.
function valueAt(row, series, run) {
    const at = pointsOf(series).runs.indexOf(run),
        band = bandOf(row, series),
        {value, disturbed} = pointsOf(series);
    if (at < 0) return null;
    const half = band ? (band.high[at] - band.low[at]) / 2 / value[at] : null;
    return {series, value: value[at], half, disturbed: disturbed[at]};
}

// A benchmark in a run: the leading metric unless another one is asked for.
function measured(benchmark, run, metric) {
    const place = placeOfRun(run);
    const row = DATA.rows.find(candidate => candidate.benchmark === benchmark && placeOf(candidate) === place);
    const series = row && (metric ? seriesOfMetric(row, metric) : DATA.series[row.first]);
    return series ? valueAt(row, series, run) : null;
}

// By how much two runs differ anyway: what the history of both has shown, else the width of both bands.
function usual(left, right) {
    const [a, b] = [usualOf(left.series), usualOf(right.series)];
    if (a !== null && b !== null) return Math.max(a, b);
    return left.half === null || right.half === null ? null : left.half + right.half;
}

// One line for each benchmark that both runs have, the worst first, those that say nothing last.
function pairs(a, b, metric) {
    const lines = [];
    for (const benchmark of new Set(DATA.rows.map(row => row.benchmark))) {
        const left = measured(benchmark, a, metric),
            right = measured(benchmark, b, metric);
        if (!left || !right || !(left.value > 0 && right.value > 0)) continue;
        const about = metricOf(left.series),
            ratio = right.value / left.value,
            noise = usual(left, right),
            disturbed = left.disturbed | right.disturbed;
        const cost = about.better > 0 ? 1 / ratio : ratio,
            clear = noise !== null && Math.abs(ratio - 1) > noise && !disturbed;
        lines.push({
            benchmark,
            about,
            left,
            right,
            ratio,
            noise,
            cost,
            disturbed,
            state: clear && about.better ? (cost > 1 ? "worse" : "better") : "steady",
        });
    }
    return lines.sort((x, y) => x.disturbed - y.disturbed || y.cost - x.cost);
}

// A bar from the middle: to the right for worse.
function bar(line, largest) {
    const box = make("span", {class: "ratio-bar", "aria-hidden": "true"}),
        part = make("i", {class: line.cost > 1 ? "up" : "down"});
    part.style.width = (50 * Math.abs(Math.log(line.cost))) / largest + "%";
    box.append(part);
    return box;
}

function pairRow(line, largest) {
    const words = line.disturbed
        ? "disturbed"
        : line.noise === null
          ? "not known"
          : line.state === "steady"
            ? "within the noise"
            : line.state;
    return make(
        "tr",
        {class: line.state},
        make("th", {scope: "row"}, line.benchmark),
        make("td", {class: "num"}, figure(line.about, line.left.value)),
        make("td", {class: "num"}, figure(line.about, line.right.value)),
        make("td", {class: "num change"}, signed(line.ratio - 1)),
        make("td", {}, bar(line, largest)),
        make("td", {class: "num"}, line.noise === null ? "" : "\u00b1" + percentOf(line.noise)),
        make("td", {}, words)
    );
}

function different(a, b) {
    const rows = DATA.runs.facts
        .map((column, i) => [column.name, fact(a, i), fact(b, i)])
        .filter(([, left, right]) => left !== right);
    return make(
        "table",
        {class: "list facts"},
        make("caption", {}, "What else is different"),
        make(
            "tbody",
            {},
            ...rows.map(([name, left, right]) =>
                make(
                    "tr",
                    {},
                    make("th", {scope: "row"}, name),
                    make("td", {}, left ?? ""),
                    make("td", {}, right ?? "")
                )
            )
        )
    );
}

function runSelect(name, label, runs) {
    const select = make(
        "select",
        {id: "run-" + name},
        ...[...runs]
            .reverse()
            .map(run =>
                make(
                    "option",
                    {value: run},
                    `${momentOf(run)}  ${shortCommit(commitOf(run))}` +
                        (state.machine ? "" : `  ${fact(run, MACHINE)}`) +
                        (state.branch ? "" : `  ${fact(run, BRANCH)}`)
                )
            )
    );
    select.value = state[name];
    select.addEventListener("change", () => choose({[name]: Number(select.value)}));
    return make("label", {}, label + " ", select);
}

// The run before another one on the same machine and branch; one with a benchmark of it where there is one, as suites
// may have runs of their own.
function runBefore(run, runs) {
    const place = placeOfRun(run),
        beside = runs.filter(other => other < run && placeOfRun(other) === place);
    const axes = new Set(DATA.rows.filter(row => placeOf(row) === place).map(row => DATA.series[row.first].axis));
    const shared = [...axes].map(axisRuns).filter(axis => axis.includes(run));
    const alike = beside.filter(other => shared.some(axis => axis.includes(other)));
    return [...beside, ...alike].pop() ?? runs[runs[0] === run ? 1 : 0];
}

function summaryOf(lines) {
    if (!lines.length) return "These runs have no benchmark in common.";
    const mean = Math.exp(lines.reduce((sum, line) => sum + Math.log(line.ratio), 0) / lines.length);
    const [worse, better, neither] = ["worse", "better", "steady"].map(
        wanted => lines.filter(line => line.state === wanted).length
    );
    return (
        `${plural(lines.length, "benchmark")}: ${worse} worse, ${better} better, ${neither} neither. ` +
        `Geometric mean of B / A ${mean.toFixed(3)} (${signed(mean - 1)}).`
    );
}

const COMPARE_HEADS = [
    ["Benchmark", ""],
    ["A", "num"],
    ["B", "num"],
    ["B against A", "num"],
    ["", ""],
    ["Usual", "num", "95 % of pairs of runs with no change between them differ by less"],
    ["Verdict", ""],
];

function drawCompare() {
    const box = byId("compare"),
        runs = runsInPlace();
    if (state.view !== "compare") return;
    if (runs.length < 2) {
        box.replaceChildren(make("p", {class: "empty"}, "Two runs of one machine and branch are needed."));
        return;
    }
    if (!runs.includes(state.b)) state.b = runs[runs.length - 1];
    if (!runs.includes(state.a)) state.a = runBefore(state.b, runs);
    const metrics = DATA.metrics.filter(metric => metric.better),
        known = metrics.some(m => m.name === state.metric);
    const lines = pairs(state.a, state.b, known ? state.metric : "");
    const select = make(
        "select",
        {},
        make("option", {value: ""}, "the leading one"),
        ...metrics.map(metric => make("option", {value: metric.name}, metric.label))
    );
    select.value = known ? state.metric : "";
    select.addEventListener("change", () => choose({metric: select.value}));
    const swap = make("button", {type: "button"}, "Swap");
    swap.addEventListener("click", () => choose({a: state.b, b: state.a}));
    const largest = Math.max(Math.log(1.05), ...lines.map(line => Math.abs(Math.log(line.cost))));
    box.replaceChildren(
        make(
            "div",
            {class: "bar"},
            runSelect("a", "A", runs),
            runSelect("b", "B", runs),
            swap,
            make("label", {}, "Metric ", select)
        ),
        make("p", {class: "sum"}, summaryOf(lines)),
        make(
            "table",
            {class: "list", hidden: !lines.length},
            make(
                "thead",
                {},
                make(
                    "tr",
                    {},
                    ...COMPARE_HEADS.map(([text, kind, title]) =>
                        make("th", {scope: "col", class: kind, title: title || ""}, text)
                    )
                )
            ),
            make("tbody", {}, ...lines.map(line => pairRow(line, largest)))
        ),
        different(state.a, state.b)
    );
}

function startCompare() {
    watch(["view", "a", "b", "machine", "branch", "metric"], drawCompare);
}
