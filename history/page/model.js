// SPDX-License-Identifier: Apache-2.0
// history/page/model.js - the data of the page: columns unpacked when they are needed, levels, bands, moves.

const DATA = JSON.parse(document.getElementById("data").textContent);
const BAND_STEPS = 4; // PAGE_BAND_STEPS
const KIND = {TIME: 0, FRACTION: 1, COUNT: 2, NUMBER: 3};

// A column of numbers (history/page_data.h): differences, seven bits a byte.
function unpack(text, step) {
    const bytes = atob(text),
        numbers = [];
    let sum = 0;
    for (let at = 0; at < bytes.length;) {
        let number = 0,
            scale = 1,
            byte;
        do {
            byte = bytes.charCodeAt(at++);
            number += (byte & 127) * scale;
            scale *= 128;
        } while (byte > 127);
        sum += number % 2 ? -(number + 1) / 2 : number / 2;
        numbers.push(sum * step);
    }
    return numbers;
}

// Calls the function once for each key.
function memo(make) {
    const made = new Map();
    return key => {
        if (!made.has(key)) made.set(key, make(key));
        return made.get(key);
    };
}

const runTimes = memo(() => unpack(DATA.runs.time, 1));
const axisRuns = memo(axis => unpack(DATA.axes[axis], 1));
const factIndices = memo(fact => unpack(DATA.runs.facts[fact].of, 1));

function fact(run, index) {
    const value = factIndices(index)[run];
    return value < 0 ? null : DATA.runs.facts[index].values[value];
}

const [COMMIT, BRANCH, MACHINE, FIRST_FACT] = [0, 1, 2, 3];
const commitOf = run => fact(run, COMMIT);
const shortCommit = commit => (/^[0-9a-f]{40,}$/.test(commit) ? commit.slice(0, 9) : commit);
const placeOfRun = run => `${fact(run, MACHINE)}, ${fact(run, BRANCH)}`;
const timeOf = run => runTimes(0)[run];
const dateOf = run => new Date(timeOf(run) * 1000).toISOString().slice(0, 10);
const momentOf = run => new Date(timeOf(run) * 1000).toISOString().slice(0, 16).replace("T", " ");

const metricOf = series => DATA.metrics[series.metric];
const seriesOfRow = row => DATA.series.slice(row.first, row.first + row.count);
const seriesOfMetric = (row, name) => seriesOfRow(row).find(series => metricOf(series).name === name);

// The points of a series: runs, values, which are disturbed (they are shown, and nothing is judged by them), and the
// ends of their bands. A fraction of the peak that was measured once has the quartiles of its samples instead.
const pointsOf = memo(series => {
    const value = unpack(series.value, series.step);
    const away = (column, sign) =>
        unpack(column, series.step * BAND_STEPS).map((distance, i) => value[i] + sign * distance);
    const disturbed = new Uint8Array(value.length);
    for (const at of series.disturbed ? unpack(series.disturbed, 1) : []) disturbed[at] = 1;
    return {
        runs: axisRuns(series.axis),
        value,
        disturbed,
        low: series.low ? away(series.low, -1) : null,
        high: series.high ? away(series.high, 1) : null,
    };
});

function bandOf(row, series) {
    const points = pointsOf(series);
    if (points.low)
        return {low: points.low, high: points.high, what: "90 % interval of the median, by the repetitions"};
    const [low, high] = ["_q1", "_q3"].map(end => seriesOfMetric(row, metricOf(series).name + end));
    if (low && high && low.axis === series.axis && high.axis === series.axis)
        return {low: pointsOf(low).value, high: pointsOf(high).value, what: "quartiles of the samples"};
    return null;
}

const changesOf = series =>
    (series.changes || []).map(([at, before, after, effect, low, high, confidence, worse, note]) => ({
        at,
        before,
        after,
        effect,
        low,
        high,
        confidence,
        worse: !!worse,
        note,
    }));

function median(sorted) {
    const half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The indices of a series' points from..to - 1 that count.
const undisturbed = (series, from, to) => {
    const {disturbed, value} = pointsOf(series),
        kept = [];
    for (let i = from; i < Math.min(to, value.length); i++) if (!disturbed[i]) kept.push(i);
    return kept;
};

// The interval that holds the true median of sorted values with 90 %, as history/page_band.h has it.
function intervalOf(sorted) {
    const n = sorted.length,
        k = n < 8 ? 0 : Math.max(0, Math.floor(n / 2 - 0.8225 * Math.sqrt(n)) - 1);
    const low = sorted[k],
        high = sorted[n - 1 - k];
    if (n < 5 || n >= 8) return [low, high];
    const middle = median(sorted),
        far = [4.2, 2.0, 1.9][n - 5] * median(sorted.map(value => Math.abs(value - middle)).sort((a, b) => a - b));
    return [Math.max(low, middle - far), Math.min(high, middle + far)];
}

// Levels between changes: the median of each and its interval. None where all points are disturbed.
const levelsOf = memo(series => {
    const {value} = pointsOf(series),
        starts = undisturbed(series, 0, value.length).length ? [0, ...changesOf(series).map(change => change.at)] : [];
    return starts.map((from, i) => {
        const to = i + 1 < starts.length ? starts[i + 1] : value.length,
            sorted = undisturbed(series, from, to)
                .map(at => value[at])
                .sort((a, b) => a - b);
        const [low, high] = intervalOf(sorted);
        return {from, to, median: median(sorted), low, high};
    });
});

// Where a fact of the environment changed between neighbours of a list of runs: the indices of the later ones.
function turns(runs, index) {
    const of = factIndices(index),
        found = [];
    for (let i = 1; i < runs.length; i++) if (of[runs[i]] !== of[runs[i - 1]]) found.push(i);
    return found;
}

// Runs of each machine and branch.
const placeRuns = memo(() => {
    const places = new Map();
    for (let run = 0; run < DATA.runs.count; run++) {
        const place = placeOfRun(run);
        if (!places.has(place)) places.set(place, []);
        places.get(place).push(run);
    }
    return places;
});

// Facts worth a mark when they change. Those that differ between most neighbours (load, dates) say nothing.
const tellingFacts = memo(() =>
    DATA.runs.facts
        .map((column, index) => index)
        .slice(FIRST_FACT)
        .filter(index => {
            const places = [...placeRuns(0).values()],
                found = places.map(runs => turns(runs, index).length);
            return found.reduce((sum, n) => sum + n, 0) <= Math.max(places.length, DATA.runs.count / 10);
        })
);

const movesIn = runs =>
    tellingFacts(0)
        .flatMap(index =>
            turns(runs, index).map(at => ({
                at,
                name: DATA.runs.facts[index].name,
                before: fact(runs[at - 1], index),
                after: fact(runs[at], index),
            }))
        )
        .sort((a, b) => a.at - b.at);
const movesOf = memo(axis => movesIn(axisRuns(axis)));

// How far two runs of a series usually differ when nothing has changed: 95 % of them by less, as a fraction. From the
// distances of all points to their levels: 90 % of them are less than 1.645 deviations, of a normal distribution; noise
// of two levels makes it wider, one wild run in ten does not. Null where there are too few.
const usualOf = memo(series => {
    const {value} = pointsOf(series),
        away = [];
    for (const level of levelsOf(series))
        for (const i of undisturbed(series, level.from, level.to)) away.push(Math.abs(value[i] / level.median - 1));
    away.sort((a, b) => a - b);
    return away.length < 6 ? null : (1.96 / 1.645) * Math.SQRT2 * away[Math.floor(away.length * 0.9)];
});
