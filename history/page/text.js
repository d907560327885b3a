// SPDX-License-Identifier: Apache-2.0
// history/page/text.js - figures in words, and elements of the page.

const MINUS = "\u2212";

function fourDigits(value) {
    const size = Math.abs(value);
    return value.toFixed(size < 9.9995 ? 3 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0).replace("-", MINUS);
}

const TIMES = [
    [0.9995, 1, "s"],
    [0.9995e-3, 1e3, "ms"],
    [0.9995e-6, 1e6, "\u00b5s"],
    [0, 1e9, "ns"],
];
const timeUnit = size => TIMES.find(([low]) => size >= low);

function figure(metric, value) {
    const size = Math.abs(value),
        unit = metric.unit ? " " + metric.unit : "";
    if (metric.kind === KIND.TIME) {
        const [, scale, name] = timeUnit(size);
        return fourDigits(value * scale) + " " + name;
    }
    if (metric.kind === KIND.FRACTION) return (value * 100).toFixed(1).replace("-", MINUS) + " %";
    if (metric.kind === KIND.COUNT) return Math.round(value).toLocaleString("en-US");
    return (size >= 1 && size < 9999.5 ? fourDigits(value) : String(Number(value.toPrecision(4)))) + unit;
}

const percentOf = effect => Math.abs(effect * 100).toFixed(Math.abs(effect) < 0.9995 ? 1 : 0) + " %";
const signed = effect => (Math.abs(effect) < 0.0005 ? "" : effect < 0 ? MINUS : "+") + percentOf(effect);

const sure = confidence => (confidence > 0.999 ? "> 99.9 %" : (Math.floor(confidence * 1000) / 10).toFixed(1) + " %");
const plural = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;

const byId = id => document.getElementById(id);

// An element: properties, then children (elements and text). "class" and names with a dash become attributes.
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {}))
        if (name === "class" || name === "role" || name === "for" || name.includes("-"))
            element.setAttribute(name, value);
        else element[name] = value;
    element.append(...children.filter(child => child !== null && child !== undefined && child !== false));
    return element;
}

function say(text) {
    byId("say").textContent = text;
}

// A commit as the table has it: with a link where the page was made with the place of commits.
const COMMIT_URL = document.documentElement.dataset.commits || "";
function commitElement(commit) {
    const code = make("code", {}, shortCommit(commit));
    return COMMIT_URL ? make("a", {href: COMMIT_URL + commit}, code) : code;
}

// The runs between which a change lies; disturbed ones do not tell.
function commitsOf(series, at) {
    const {runs} = pointsOf(series),
        before = undisturbed(series, 0, at).pop();
    const here = ["in ", commitElement(commitOf(runs[at]))];
    return before === undefined ? here : ["after ", commitElement(commitOf(runs[before])), ", ", ...here];
}
