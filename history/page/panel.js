// SPDX-License-Identifier: Apache-2.0
// history/page/panel.js - the parts of one benchmark's panel: verdict, choices, the run in figures, lists, legend.

// The metrics that have a button; the others are in a list behind them.
const LEADING = ["real_time", "cpu_time", "instructions", "of_peak", "of_stream", "of_bound", "gflops"];

function shownSeries(row) {
    return seriesOfMetric(row, state.metric) || DATA.series[row.shown];
}

// In words, what the row's state says.
function verdict(entry, row) {
    const series = DATA.series[row.shown],
        metric = metricOf(series),
        changes = changesOf(series);
    const runsSince = at => plural(undisturbed(series, at, Infinity).length, "run");
    if (entry.state === "few") return [`Only ${runsSince(0)} so far: too few to tell a change from noise.`];
    const levels = levelsOf(series),
        now = changes.length ? changes[changes.length - 1].after : levels[0].median;
    if (entry.state === "steady") return [`Steady at ${figure(metric, now)} over ${runsSince(0)}.`];
    const change = changes.find(candidate => candidate.at === Number(entry.tr.dataset.at));
    const effect = change === changes[changes.length - 1] ? change.effect : now / change.before - 1;
    const lead =
        metric.kind === KIND.TIME
            ? `${percentOf(effect)} ${change.worse ? "slower" : "faster"}`
            : `${signed(effect)} ${metric.label}`;
    return [
        make("strong", {}, lead),
        " ",
        ...commitsOf(series, change.at),
        `, ${runsSince(change.at)} so far. `,
        `${figure(metric, change.before)} before, ${figure(metric, now)} now; the step was ${signed(change.low)} to ` +
            `${signed(change.high)} (95 %), ${sure(change.confidence)} sure.`,
        change.note === null ? "" : ` Acknowledged${change.note ? ": " + change.note : "."}`,
    ];
}

function segment(name, choices, value, onPick) {
    const group = make("div", {class: "segment", role: "radiogroup", "aria-label": name});
    for (const [key, text] of choices) {
        const input = make("input", {type: "radio", name: "segment-" + name, value: key, checked: key === value});
        input.addEventListener("change", () => onPick(key));
        group.append(make("label", {}, input, make("span", {}, text)));
    }
    return group;
}

// Whether disturbed runs are drawn: only where the series has some.
function disturbedSwitch(series) {
    if (!series.disturbed) return null;
    const input = make("input", {type: "checkbox", id: "show-disturbed", checked: state.disturbed === "shown"});
    input.addEventListener("change", () => choose({disturbed: input.checked ? "shown" : "hidden"}));
    const count = pointsOf(series).disturbed.reduce((sum, one) => sum + one, 0);
    return make("label", {class: "switch", title: "The bench marks them (d)"}, input, ` Disturbed runs (${count})`);
}

function metricChoice(row, shown) {
    const all = seriesOfRow(row).map(metricOf),
        leading = all.filter(metric => LEADING.includes(metric.name));
    const first = leading.length ? leading : all.slice(0, 4),
        rest = all.filter(metric => !first.includes(metric));
    const pick = name => choose({metric: name});
    const group = segment(
        "Metric",
        first.map(metric => [metric.name, metric.label]),
        metricOf(shown).name,
        pick
    );
    if (!rest.length) return group;
    const select = make(
        "select",
        {"aria-label": "Other metrics"},
        make("option", {value: ""}, "More\u2026"),
        ...rest.map(metric => make("option", {value: metric.name}, metric.label))
    );
    select.value = rest.includes(metricOf(shown)) ? metricOf(shown).name : "";
    select.addEventListener("change", () => select.value && pick(select.value));
    return make("div", {class: "metrics"}, group, select);
}

// The second chart: how near the machine's limit, or the time where that is what the first one shows.
function companion(row, shown) {
    const names =
        metricOf(shown).kind === KIND.FRACTION ? ["real_time", "cpu_time"] : ["of_bound", "of_peak", "real_time"];
    return names.map(name => seriesOfMetric(row, name)).find(series => series && series !== shown);
}

// Why a point is disturbed: the share of undisturbed samples, and what the host took.
const REMARKS = ["calm", "stolen"];

function readout(chart, i) {
    const run = chart.runs[i],
        value = chart.points.value[i],
        band = chart.band,
        metric = chart.metric,
        disturbed = chart.points.disturbed[i];
    const level = chart.levels.find(candidate => i < candidate.to);
    const moved = chart.moves.filter(move => move.at === i);
    const part = (name, ...content) => make("div", {}, make("dt", {}, name), make("dd", {}, ...content));
    const others = seriesOfRow(chart.row).filter(
        series =>
            series !== chart.series &&
            ["real_time", "of_bound", "of_peak", "instructions", ...(disturbed ? REMARKS : [])].includes(
                metricOf(series).name
            )
    );
    return [
        part("Commit", commitElement(commitOf(run))),
        chart.fork > 0 && part("Branch", fact(run, BRANCH)),
        part("Date", momentOf(run)),
        part(
            metric.label,
            make("b", {}, figure(metric, value)),
            band ? ` ${figure(metric, band.low[i])} to ${figure(metric, band.high[i])}` : ""
        ),
        disturbed && part("Disturbed", "left out"),
        level && part("Against its level", signed(value / level.median - 1)),
        ...others
            .map(series => {
                const at = pointsOf(series).runs.indexOf(run);
                return at < 0
                    ? null
                    : part(metricOf(series).label, figure(metricOf(series), pointsOf(series).value[at]));
            })
            .filter(Boolean),
        ...moved.map(move =>
            part("Since here, " + move.name, `${move.before ?? "none"} \u2192 ${move.after ?? "none"}`)
        ),
    ];
}

function changeList(row) {
    const lines = seriesOfRow(row)
        .filter(series => metricOf(series).better)
        .flatMap(series => changesOf(series).map(change => ({series, change})))
        .sort((a, b) => {
            const time = ({series, change}) => timeOf(pointsOf(series).runs[change.at]);
            return time(b) - time(a);
        });
    if (!lines.length) return null;
    return make(
        "table",
        {class: "list"},
        make("caption", {}, "Changes of this benchmark"),
        make(
            "tbody",
            {},
            ...lines.map(({series, change}) =>
                make(
                    "tr",
                    {class: change.worse ? (change.note === null ? "worse" : "known") : "better"},
                    make("td", {}, dateOf(pointsOf(series).runs[change.at])),
                    make("td", {}, ...commitsOf(series, change.at)),
                    make("td", {}, metricOf(series).label),
                    make("td", {class: "num change"}, signed(change.effect)),
                    make("td", {class: "num"}, sure(change.confidence) + " sure"),
                    make("td", {class: "note"}, change.note || "")
                )
            )
        )
    );
}

// Every run in figures; filled when it is opened.
function runTable(chart) {
    const details = make("details", {}, make("summary", {}, "Runs as a table"));
    details.addEventListener("toggle", () => {
        if (!details.open || details.querySelector("table")) return;
        const rows = chart.runs.map((run, i) =>
            make(
                "tr",
                chart.points.disturbed[i] ? {class: "disturbed"} : {},
                make("th", {scope: "row"}, commitElement(commitOf(run))),
                make("td", {}, momentOf(run)),
                make("td", {class: "num"}, figure(chart.metric, chart.points.value[i])),
                make(
                    "td",
                    {class: "num"},
                    chart.band
                        ? `${figure(chart.metric, chart.band.low[i])} to ` + figure(chart.metric, chart.band.high[i])
                        : ""
                ),
                chart.series.disturbed && make("td", {}, chart.points.disturbed[i] ? "disturbed" : "")
            )
        );
        details.append(
            make(
                "table",
                {class: "list"},
                make(
                    "thead",
                    {},
                    make(
                        "tr",
                        {},
                        ...["Commit", "Date", chart.metric.label, "Band"].map((text, i) =>
                            make("th", {scope: "col", class: i > 1 ? "num" : ""}, text)
                        ),
                        chart.series.disturbed && make("th", {scope: "col"}, "Left out")
                    )
                ),
                make("tbody", {}, ...rows.reverse())
            )
        );
    });
    return details;
}

function legend(chart) {
    const item = (name, text) => make("li", {}, make("i", {class: "key " + name, "aria-hidden": "true"}), text);
    return make(
        "ul",
        {class: "legend"},
        item("line", "median of a run"),
        chart.disturbed && item("disturbed", "disturbed run, left out of all else"),
        chart.band && item("band", chart.band.what),
        item("level", "level between changes, its 90 % interval"),
        chart.moves.length > 0 && item("move", "environment changed"),
        chart.peers.length > 0 && item("peer", "other libraries")
    );
}
