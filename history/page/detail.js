// SPDX-License-Identifier: Apache-2.0
// history/page/detail.js - the panel of one benchmark: charts, the run under the slider, how far one looks back.

const LATEST = [0, 200, 50]; // runs in sight; 0: all
let panel = null; // of the benchmark shown: charts, slider, readout

function showRun(i) {
    const {chart, slider, charts, box} = panel;
    slider.value = i;
    slider.setAttribute(
        "aria-valuetext",
        `${shortCommit(commitOf(chart.runs[i]))}, ${dateOf(chart.runs[i])}, ` +
            figure(chart.metric, chart.points.value[i]) +
            (chart.points.disturbed[i] ? ", disturbed" : "")
    );
    box.replaceChildren(...readout(chart, i).filter(Boolean));
    panel.at = i;
    return charts;
}

function zoom() {
    const n = panel.chart.x.length,
        from = state.latest ? Math.max(0, n - state.latest) : 0;
    panel.slider.min = from;
    for (const drawn of panel.charts) if (n > 1) drawn.zoom(from, n - 1);
}

function drawDetail() {
    const box = byId("detail");
    for (const drawn of panel ? panel.charts : []) drawn.end();
    panel = null;
    if (!chosenEntry) {
        box.replaceChildren(make("p", {class: "empty"}, "No runs on this machine and branch."));
        return;
    }
    const {row} = chosenEntry,
        series = shownSeries(row),
        second = companion(row, series);
    const chart = chartOf(row, series, {axis: state.axis}),
        last = chart.x.length - 1;
    const boxes = [make("div", {class: "chart"}), second && make("div", {class: "chart small"})].filter(Boolean);
    const slider = make("input", {type: "range", min: 0, max: last, step: 1, class: "slider", "aria-label": "Run"});
    const output = make("dl", {class: "readout"});
    box.replaceChildren(
        make("h2", {}, row.benchmark),
        make("p", {class: "place-of"}, placeOf(row)),
        make("p", {class: "verdict " + chosenEntry.state}, ...verdict(chosenEntry, row)),
        make(
            "div",
            {class: "bar"},
            metricChoice(row, series),
            segment(
                "Runs",
                LATEST.map(n => [n, n ? `Latest ${n}` : "All"]),
                state.latest,
                n => choose({latest: n})
            ),
            segment(
                "Axis",
                [
                    ["commits", "Commits"],
                    ["dates", "Dates"],
                ],
                state.axis,
                axis => choose({axis})
            ),
            disturbedSwitch(series)
        ),
        boxes[0],
        make("div", {class: "rail"}, slider),
        output,
        boxes[1] || "",
        legend(chart),
        changeList(row) || "",
        runTable(chart)
    );
    const draw = HAVE_UPLOT ? drawUplot : drawPlain,
        onCursor = i => showRun(i);
    panel = {chart, slider, box: output, charts: [], at: last};
    boxes[0].setAttribute("role", "img");
    boxes[0].setAttribute(
        "aria-label",
        `${chart.metric.label} of ${row.benchmark} over ${plural(chart.x.length, "run")}; ` +
            "the slider below reads it run by run"
    );
    panel.charts.push(draw(boxes[0], chart, {height: 300, onCursor}));
    if (second) {
        boxes[1].setAttribute("aria-hidden", "true");
        panel.charts.push(draw(boxes[1], chartOf(row, second, {axis: state.axis, small: true}), {height: 130}));
    }
    slider.addEventListener("input", () => showRun(Number(slider.value))[0].show(Number(slider.value)));
    showRun(last);
    if (state.latest) zoom();
}

function startDetail() {
    watch(["machine", "branch", "benchmark", "at", "metric", "axis", "disturbed", "theme"], drawDetail);
    watch(["latest"], () => {
        const input = document.querySelector(`.segment input[name="segment-Runs"][value="${state.latest}"]`);
        if (input) input.checked = true;
        if (panel) zoom();
    });
    new ResizeObserver(() => panel && panel.charts.forEach(drawn => drawn.size())).observe(byId("detail"));
}
