// SPDX-License-Identifier: Apache-2.0
// history/page/chart.js - one series drawn by uPlot: band, medians, levels, changes, moves of the environment, peers.

const HAVE_UPLOT = typeof uPlot !== "undefined";

const pixels = () => devicePixelRatio || 1;

function lineAt(u, context, x0, x1, y, width, dash) {
    context.lineWidth = width * pixels();
    context.setLineDash(dash.map(length => length * pixels()));
    context.beginPath();
    context.moveTo(x0, y);
    context.lineTo(x1, y);
    context.stroke();
}

// The middle between two points, where a change lies; the edge of the axis at its ends.
function edge(u, chart, at) {
    const {x} = chart,
        last = x.length - 1;
    const place = at <= 0 ? x[0] : at > last ? x[last] : (x[at - 1] + x[at]) / 2;
    return Math.min(Math.max(u.valToPos(place, "x", true), u.bbox.left), u.bbox.left + u.bbox.width);
}

function drawLevels(u, chart) {
    const context = u.ctx;
    for (const level of chart.levels) {
        const from = edge(u, chart, level.from),
            to = edge(u, chart, level.to);
        const high = u.valToPos(level.high * chart.scale, "y", true),
            low = u.valToPos(level.low * chart.scale, "y", true);
        context.fillStyle = fade("level", 0.16);
        context.fillRect(from, high, to - from, low - high);
        context.strokeStyle = colour("level");
        lineAt(u, context, from, to, u.valToPos(level.median * chart.scale, "y", true), 2, []);
    }
}

function label(u, text, x, y, align, name) {
    const context = u.ctx;
    context.font = `600 ${11 * pixels()}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    const width = context.measureText(text).width + 8 * pixels(),
        height = 17 * pixels();
    const left = align === "left" ? x : align === "right" ? x - width : x - width / 2;
    const start = Math.min(Math.max(left, u.bbox.left), u.bbox.left + u.bbox.width - width);
    context.fillStyle = colour("surface");
    context.fillRect(start, y - height / 2, width, height);
    context.fillStyle = colour(name);
    context.textAlign = "left";
    context.fillText(text, start + 4 * pixels(), y);
}

function drawChanges(u, chart) {
    const context = u.ctx,
        top = u.bbox.top,
        bottom = u.bbox.top + u.bbox.height;
    let free = -Infinity,
        line = 0;
    for (const change of chart.changes) {
        const x = edge(u, chart, change.at),
            name = change.worse ? (change.note === null ? "worse" : "known") : "better";
        if (x <= u.bbox.left || x >= u.bbox.left + u.bbox.width) continue;
        context.strokeStyle = colour(name);
        context.lineWidth = 1.5 * pixels();
        context.setLineDash([4 * pixels(), 3 * pixels()]);
        context.beginPath();
        context.moveTo(x, top);
        context.lineTo(x, bottom);
        context.stroke();
        if (!chart.small) {
            line = x < free ? line + 1 : 0; // labels that would lie on one another go below
            label(
                u,
                `${change.worse ? "\u25b2" : "\u25bc"} ${signed(change.effect)}`,
                x,
                top + (10 + 17 * line) * pixels(),
                "center",
                name
            );
            free = x + 70 * pixels();
        }
    }
    context.setLineDash([]);
}

// Ticks at the foot where the environment changed: compiler, flags, CPU.
function drawMoves(u, chart) {
    const context = u.ctx,
        foot = u.bbox.top + u.bbox.height;
    context.fillStyle = colour("muted");
    for (const at of new Set(chart.moves.map(move => move.at))) {
        const x = edge(u, chart, at),
            half = 4 * pixels();
        if (x <= u.bbox.left || x >= u.bbox.left + u.bbox.width) continue;
        context.beginPath();
        context.moveTo(x - half, foot);
        context.lineTo(x + half, foot);
        context.lineTo(x, foot - 2 * half);
        context.fill();
    }
}

// Where a branch left the one whose runs are drawn before its own.
function drawFork(u, chart) {
    if (chart.fork <= 0) return;
    const x = edge(u, chart, chart.fork);
    u.ctx.strokeStyle = colour("muted");
    u.ctx.lineWidth = pixels();
    u.ctx.setLineDash([1 * pixels(), 3 * pixels()]);
    u.ctx.beginPath();
    u.ctx.moveTo(x, u.bbox.top);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.setLineDash([]);
    const y = u.bbox.top + 28 * pixels(); // under the labels of changes
    if (!chart.small) label(u, DATA.branches[chart.row.branch], x, y, "center", "muted");
}

// Flat lines; a peer that is out of the picture is named at the edge beyond which it lies.
function drawPeers(u, chart) {
    const {left, top, width, height} = u.bbox,
        context = u.ctx;
    chart.peers.forEach(([name, value], i) => {
        const y = u.valToPos(value * chart.scale, "y", true),
            inside = y >= top && y <= top + height;
        const paint = "peer" + (i % 4);
        context.strokeStyle = colour(paint);
        if (inside) lineAt(u, context, left, left + width, y, 1.5, [2, 4]);
        const arrow = y < top ? " \u2191" : y > top + height ? " \u2193" : "";
        const at = Math.min(Math.max(y - 10 * pixels(), top + 10 * pixels()), top + height - 10 * pixels());
        label(u, `${name} ${figure(chart.metric, value)}${arrow}`, left + (4 + 170 * i) * pixels(), at, "left", paint);
    });
    context.setLineDash([]);
}

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
            Number.isInteger(i) && chart.runs[i] !== undefined ? shortCommit(commitOf(chart.runs[i])).slice(0, 12) : ""
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
    const edgeLine = {stroke: "transparent", width: 0, points: {show: false}};
    return [
        {},
        edgeLine,
        edgeLine,
        {
            stroke: colour("line"),
            width: 1.25,
            points: {show: chart.x.length < 120, size: 5, fill: colour("surface"), stroke: colour("line"), width: 1.25},
        },
    ];
}

// Draws into a box and returns what the panel needs: show(i), zoom(from, to), size(), end().
function drawUplot(box, chart, options) {
    const scaled = values => values.map(value => value * chart.scale);
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
        show: i => u.setCursor({left: u.valToPos(chart.x[i], "x"), top: u.valToPos(value[i], "y")}, false),
        zoom: (from, to) => u.setScale("x", {min: chart.x[from], max: chart.x[to]}),
        size: () => u.setSize({width: box.clientWidth, height: options.height}),
        end: () => u.destroy(),
    };
}

function clipped(u, draw) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    draw();
    u.ctx.restore();
}

// What the y axis spans, in the chart's unit, for the points from..to: every level and all medians but those that lie
// twelve times as far from their level as three quarters do, and bands as far as they do not squash the rest; some air
// around it, and never less than 4 % of the value: noise of a per mille shall not look like a mountain.
function spanOf(chart, from, to) {
    if (to < from) return [0, 1];
    const {value} = chart.points,
        levels = chart.levels.filter(level => level.to > from && level.from <= to);
    const away = levels
        .flatMap(level =>
            value.slice(Math.max(level.from, from), Math.min(level.to, to + 1)).map(v => v - level.median)
        )
        .map(Math.abs)
        .sort((a, b) => a - b);
    const far = 12 * away[Math.floor((away.length - 1) * 0.75)] || Infinity,
        middles = levels.map(level => level.median);
    const inSight = value.slice(from, to + 1);
    let low = Math.min(Math.max(Math.min(...inSight), Math.min(...middles) - far), ...middles),
        high = Math.max(Math.min(Math.max(...inSight), Math.max(...middles) + far), ...middles);
    if (chart.band) {
        const more = Math.max(high - low, Math.abs(high) * 0.02) / 2;
        low = Math.max(Math.min(low, ...chart.band.low.slice(from, to + 1)), low - more);
        high = Math.min(Math.max(high, ...chart.band.high.slice(from, to + 1)), high + more);
    }
    const middle = (low + high) / 2,
        half = Math.max(((high - low) / 2) * 1.12, Math.abs(middle) * 0.02, 1e-15);
    return [(middle - half) * chart.scale, (middle + half) * chart.scale];
}
