// SPDX-License-Identifier: Apache-2.0
// history/page/chart.js - one series drawn by uPlot: band and medians, axes, what they span; marks.js draws the rest.

const HAVE_UPLOT = typeof uPlot !== "undefined";

// What a chart of a series shows, whichever way it is drawn.
function chartOf(row, series, options) {
    const points = pointsOf(series),
        metric = metricOf(series);
    const largest = Math.max(...points.value.map(Math.abs), 1e-300);
    const [, scale, unit] =
        metric.kind === KIND.TIME
            ? timeUnit(largest)
            : metric.kind === KIND.FRACTION
              ? [0, 100, "%"]
              : [0, 1, metric.unit];
    const runs = points.runs;
    return {
        row,
        series,
        metric,
        scale,
        unit,
        runs,
        points,
        small: options.small,
        disturbed: !!series.disturbed && state.disturbed === "shown",
        band: bandOf(row, series),
        levels: levelsOf(series),
        changes: changesOf(series),
        fork: runs.findIndex(run => fact(run, BRANCH) === DATA.branches[row.branch]),
        moves: movesOf(series.axis),
        peers: options.small ? [] : series.peers || [],
        x: options.axis === "dates" ? runs.map(timeOf) : runs.map((run, i) => i),
        dates: options.axis === "dates",
    };
}

function axesOf(chart) {
    const font = `${11}px ${FONT}`;
    const common = {
        labelFont: font,
        stroke: colour("muted"),
        font,
        grid: {stroke: colour("grid"), width: 1},
        ticks: {stroke: colour("grid"), width: 1, size: 4},
    };
    const commits = (u, splits) =>
        splits.map(i =>
            Number.isInteger(i) && chart.runs[i] !== undefined ? shortCommit(commitOf(chart.runs[i])).slice(0, 15) : ""
        );
    const dates = (u, splits, axis, space, increment) =>
        splits.map(second => {
            const text = new Date(second * 1000).toISOString();
            return increment < 86400 ? text.slice(5, 16).replace("T", " ") : text.slice(0, 10);
        });
    return [
        chart.dates
            ? {...common, size: 28, space: 90, values: dates}
            : {
                  ...common,
                  size: 28,
                  space: 90,
                  values: commits,
                  incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
              },
        {
            ...common,
            size: 60,
            labelSize: 18,
            space: chart.small ? 26 : 36,
            label: [chart.metric.label, chart.unit].filter(part => part && part !== "%").join(", "),
        },
    ];
}

function seriesOptions(chart) {
    const edgeLine = {stroke: "transparent", width: 0, points: {show: false}, spanGaps: true};
    return [
        {},
        edgeLine,
        edgeLine,
        {
            stroke: colour("line"),
            width: 1.25,
            spanGaps: true,
            points: {show: chart.x.length < 120, size: 4.5, fill: colour("line"), width: 0},
        },
    ];
}

// Draws into a box and returns what the panel needs: show(i), zoom(from, to), size(), end().
function drawUplot(box, chart, options) {
    const scaled = values => values.map((value, i) => (chart.points.disturbed[i] ? null : value * chart.scale));
    const value = scaled(chart.points.value),
        band = chart.band;
    const u = new uPlot(
        {
            width: box.clientWidth || 600,
            height: options.height,
            scales: {
                x: {time: chart.dates},
                y: {range: self => spanOf(chart, ...(self.series[0].idxs || [0, chart.x.length - 1]))},
            },
            axes: axesOf(chart),
            series: seriesOptions(chart),
            bands: [{series: [2, 1], fill: fade("line", 0.22)}],
            legend: {show: false},
            tzDate: second => uPlot.tzDate(new Date(second * 1000), "Etc/UTC"),
            cursor: {
                y: false,
                sync: {key: "detail", setSeries: false},
                drag: {x: true, y: false},
                points: {show: (self, i) => i === 3 && make("div", {})},
            },
            hooks: {
                draw: [
                    self =>
                        clipped(self, () => {
                            drawLevels(self, chart);
                            drawFork(self, chart);
                            drawMoves(self, chart);
                            drawPeers(self, chart);
                            drawChanges(self, chart);
                        }),
                    self => drawDisturbed(self, chart), // whole, where they lie on the edge
                ],
                setCursor: [
                    self =>
                        options.onCursor &&
                        self.cursor.idx !== null &&
                        self.cursor.idx !== undefined &&
                        self.cursor.event &&
                        options.onCursor(self.cursor.idx),
                ],
            },
        },
        [chart.x, band ? scaled(band.low) : value, band ? scaled(band.high) : value, value],
        box
    );
    return {
        show: i => u.setCursor(
                {
                    left: u.valToPos(chart.x[i], "x"),
                    top: u.valToPos(chart.points.value[i] * chart.scale, "y"),
                },
                false
            ),
        zoom: (from, to) => u.setScale("x", {min: chart.x[from], max: chart.x[to]}),
        size: () => u.setSize({width: box.clientWidth, height: options.height}),
        end: () => u.destroy(),
    };
}

// What the y axis spans, in the chart's unit, for the points from..to: every level and all medians but those that lie
// twelve times as far from their level as three quarters do, bands and disturbed runs as far as they do not squash the
// rest; some air around it, and never less than 4 % of the value: noise of a per mille shall not look like a mountain.
function spanOf(chart, from, to) {
    if (to < from) return [0, 1];
    const {value, disturbed} = chart.points,
        levels = chart.levels.filter(level => level.to > from && level.from <= to);
    if (!levels.length) return spanAround(Math.min(...value), Math.max(...value), chart.scale);
    const kept = undisturbed(chart.series, from, to + 1),
        inSight = kept.map(i => value[i]);
    const away = levels
        .flatMap(level => kept.filter(i => i >= level.from && i < level.to).map(i => value[i] - level.median))
        .map(Math.abs)
        .sort((a, b) => a - b);
    const far = 12 * away[Math.floor((away.length - 1) * 0.75)] || Infinity,
        middles = levels.map(level => level.median);
    let low = Math.min(Math.max(Math.min(...inSight), Math.min(...middles) - far), ...middles),
        high = Math.max(Math.min(Math.max(...inSight), Math.max(...middles) + far), ...middles);
    const {band} = chart,
        more = Math.max(high - low, Math.abs(high) * 0.02) / 2,
        out = chart.disturbed ? value.filter((v, i) => disturbed[i] && i >= from && i <= to) : [];
    low = Math.max(Math.min(low, ...out, ...(band ? kept.map(i => band.low[i]) : [])), low - more);
    high = Math.min(Math.max(high, ...out, ...(band ? kept.map(i => band.high[i]) : [])), high + more);
    return spanAround(low, high, chart.scale);
}

function spanAround(low, high, scale) {
    const middle = (low + high) / 2,
        half = Math.max(((high - low) / 2) * 1.12, Math.abs(middle) * 0.02, 1e-15);
    return [(middle - half) * scale, (middle + half) * scale];
}
