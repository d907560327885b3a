// SPDX-License-Identifier: Apache-2.0
// history/page/plain.js - the same chart as plain SVG, for pages that were built without uPlot.

const SVG = "http://www.w3.org/2000/svg";

function shape(tag, attributes, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

// Where the parts of a chart lie: from, to: the points in sight.
function plainScales(chart, width, height, from, to) {
    const left = 64,
        right = 8,
        top = 8,
        bottom = 22,
        {x, scale} = chart;
    const [low, high] = spanOf(chart, from, to);
    return {
        left,
        top,
        width,
        height,
        low,
        high,
        foot: height - bottom,
        x: i => left + (x[to] > x[from] ? (x[i] - x[from]) / (x[to] - x[from]) : 0.5) * (width - left - right),
        y: value => top + Math.min(Math.max((high - value * scale) / (high - low), 0), 1) * (height - top - bottom),
    };
}

function plainAxes(chart, at, from, to) {
    const parts = [];
    for (let i = 0; i <= 4; i++) {
        const value = (at.low + ((at.high - at.low) * i) / 4) / chart.scale,
            y = at.y(value);
        parts.push(
            shape("line", {x1: at.left, x2: at.width, y1: y, y2: y, class: "grid"}),
            shape("text", {x: at.left - 6, y: y + 4, "text-anchor": "end"}, figure(chart.metric, value))
        );
    }
    for (const i of new Set([from, (from + to) >> 1, to]))
        parts.push(
            shape(
                "text",
                {x: at.x(i), y: at.height - 6, "text-anchor": i === from ? "start" : i === to ? "end" : "middle"},
                chart.dates ? dateOf(chart.runs[i]) : shortCommit(commitOf(chart.runs[i]))
            )
        );
    return parts;
}

function plainParts(chart, at, from, to) {
    const spot = (i, value) => `${at.x(i).toFixed(1)},${at.y(value).toFixed(1)}`,
        parts = plainAxes(chart, at, from, to);
    const indices = undisturbed(chart.series, from, to + 1);
    if (chart.band)
        parts.push(
            shape("polygon", {
                class: "band",
                points: [
                    ...indices.map(i => spot(i, chart.band.high[i])),
                    ...indices.reverse().map(i => spot(i, chart.band.low[i])),
                ].join(" "),
            })
        );
    indices.sort((a, b) => a - b);
    parts.push(shape("polyline", {class: "line", points: indices.map(i => spot(i, chart.points.value[i])).join(" ")}));
    for (let i = from; chart.disturbed && i <= to; i++)
        if (chart.points.disturbed[i])
            parts.push(shape("circle", {class: "disturbed", cx: at.x(i), cy: at.y(chart.points.value[i]), r: 3.5}));
    for (const level of chart.levels.filter(level => level.to > from && level.from <= to)) {
        const ends = [Math.max(level.from, from), Math.min(level.to - 1, to)].map(i => at.x(i)),
            y = at.y(level.median);
        parts.push(shape("line", {class: "level", x1: ends[0], x2: ends[1], y1: y, y2: y}));
    }
    for (const change of chart.changes.filter(change => change.at > from && change.at <= to)) {
        const x = (at.x(change.at - 1) + at.x(change.at)) / 2;
        parts.push(shape("line", {class: change.worse ? "worse" : "better", x1: x, x2: x, y1: at.top, y2: at.foot}));
    }
    if (chart.fork > from && chart.fork <= to) {
        const x = (at.x(chart.fork - 1) + at.x(chart.fork)) / 2;
        parts.push(shape("line", {class: "needle", x1: x, x2: x, y1: at.top, y2: at.foot}));
    }
    for (const [name, value] of chart.peers)
        if (at.y(value) > at.top && at.y(value) < at.foot)
            parts.push(
                shape("line", {class: "peer", x1: at.left, x2: at.width, y1: at.y(value), y2: at.y(value)}),
                shape("text", {x: at.width - 4, y: at.y(value) - 4, "text-anchor": "end"}, name)
            );
    return parts;
}

function drawPlain(box, chart, options) {
    const svg = shape("svg", {class: "plain-chart"}),
        needle = shape("line", {class: "needle"});
    let from = 0,
        to = chart.x.length - 1,
        at;
    const draw = () => {
        at = plainScales(chart, box.clientWidth || 600, options.height, from, to);
        svg.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
        svg.setAttribute("height", at.height);
        svg.replaceChildren(...plainParts(chart, at, from, to), needle);
    };
    const show = i => {
        for (const [name, value] of Object.entries({x1: at.x(i), x2: at.x(i), y1: at.top, y2: at.foot}))
            needle.setAttribute(name, value);
    };
    svg.addEventListener("pointermove", event => {
        const place = event.clientX - svg.getBoundingClientRect().left;
        let best = from;
        for (let i = from; i <= to; i++) if (Math.abs(at.x(i) - place) < Math.abs(at.x(best) - place)) best = i;
        if (options.onCursor) options.onCursor(best);
    });
    box.append(svg);
    draw();
    return {
        show,
        size: draw,
        end: () => svg.remove(),
        zoom: (first, last) => {
            from = first;
            to = last;
            draw();
        },
    };
}
