// SPDX-License-Identifier: Apache-2.0
// history/page/marks.js - what is drawn over uPlot's chart: levels, changes, moves of the environment, peers, disturbed
// runs.

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

// Hollow: runs that the bench marks as disturbed. One that is out of the picture is a triangle at the edge beyond which
// it lies.
function drawDisturbed(u, chart) {
    if (!chart.disturbed) return;
    const context = u.ctx,
        {left, top, width, height} = u.bbox,
        radius = 3.5 * pixels();
    context.lineWidth = 1.25 * pixels();
    context.strokeStyle = colour("muted");
    context.fillStyle = colour("surface");
    for (let i = 0; i < chart.x.length; i++) {
        if (!chart.points.disturbed[i]) continue;
        const x = u.valToPos(chart.x[i], "x", true),
            y = u.valToPos(chart.points.value[i] * chart.scale, "y", true);
        if (x < left - 1 || x > left + width + 1) continue;
        context.beginPath();
        if (y < top || y > top + height) {
            const tip = y < top ? top + pixels() : top + height - pixels(),
                foot = tip + (y < top ? 2 : -2) * radius;
            context.moveTo(x, tip);
            context.lineTo(x - radius, foot);
            context.lineTo(x + radius, foot);
            context.closePath();
        } else context.arc(x, y, radius, 0, 2 * Math.PI);
        context.fill();
        context.stroke();
    }
}

function clipped(u, draw) {
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    u.ctx.clip();
    draw();
    u.ctx.restore();
}
