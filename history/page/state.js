// SPDX-License-Identifier: Apache-2.0
// history/page/state.js - what is chosen; it lives in the address behind the #, so that a view can be sent to somebody.

const state = {
    view: "benchmarks",
    machine: "",
    branch: "",
    benchmark: "",
    at: "",
    metric: "",
    latest: 0,
    axis: "commits",
    disturbed: "shown",
    a: -1,
    b: -1,
};
const watchers = [];

// Changes the state and tells everyone who draws a part of it; `names` are those that changed.
function choose(changes) {
    const names = Object.keys(changes).filter(name => state[name] !== changes[name]);
    if (!names.length) return;
    Object.assign(state, changes);
    writeAddress();
    for (const watcher of watchers) if (watcher.names.some(name => names.includes(name))) watcher.draw();
}

function watch(names, draw) {
    watchers.push({names, draw});
}

const NUMBERS = ["latest", "a", "b"],
    DEFAULTS = {...state};

function writeAddress() {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(state)) if (value !== DEFAULTS[name]) query.set(name, value);
    history.replaceState(null, "", "#" + query);
}

function readAddress() {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const name of Object.keys(state))
        if (query.has(name))
            state[name] = NUMBERS.includes(name) ? Math.trunc(Number(query.get(name))) || 0 : query.get(name);
}

// Rows of the machine and branch that are chosen.
const inPlace = row =>
    (!state.machine || DATA.machines[row.machine] === state.machine) &&
    (!state.branch || DATA.branches[row.branch] === state.branch);
const placeOf = row => `${DATA.machines[row.machine]}, ${DATA.branches[row.branch]}`;
const rowsInPlace = () => DATA.rows.filter(inPlace);

// A preference that outlives the page, where the browser keeps any for files.
function remember(name, value) {
    try {
        localStorage.setItem(name, value);
    } catch (error) {
        return;
    }
}

function recall(name) {
    try {
        return localStorage.getItem(name);
    } catch (error) {
        return null;
    }
}
