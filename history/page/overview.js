// SPDX-License-Identifier: Apache-2.0
// history/page/overview.js - the table made alive: machine and branch, states, names, order, the row chosen.

const STATES = ["worse", "known", "better", "steady", "few"];
const tableBody = document.querySelector("#overview tbody");
// One for each row of the table, in the order of the page (worst first).
const entries = [...tableBody.rows].map((tr, index) => {
    const row = DATA.rows[tr.dataset.row],
        pick = make("button", {type: "button", class: "pick"});
    const name = tr.querySelector(".name");
    name.replaceWith(pick);
    pick.append(...name.childNodes);
    pick.after(make("small", {class: "where"}, placeOf(row)));
    return {tr, row, pick, index, name: row.benchmark.toLowerCase(), state: STATES.find(s => tr.classList.contains(s))};
});
const wanted = new Set(); // states whose tiles are pressed; none: all
let order = {by: "change", down: true};
let chosenEntry = null;

const SORTS = {
    name: (a, b) => a.row.benchmark.localeCompare(b.row.benchmark, "en", {numeric: true}),
    change: (a, b) => a.index - b.index,
    now: (a, b) => Number(b.tr.dataset.now) - Number(a.tr.dataset.now),
    limit: (a, b) => (Number(a.tr.dataset.limit) || 9) - (Number(b.tr.dataset.limit) || 9),
};

function sortRows() {
    const compare = SORTS[order.by],
        sorted = [...entries].sort((a, b) => compare(a, b) || a.index - b.index);
    if (!order.down) sorted.reverse();
    tableBody.append(...sorted.map(entry => entry.tr));
    for (const th of document.querySelectorAll("#overview th[data-sort]"))
        if (th.dataset.sort === order.by)
            th.setAttribute("aria-sort", (order.by === "name") === order.down ? "ascending" : "descending");
        else th.removeAttribute("aria-sort");
}

const visible = () => [...tableBody.rows].filter(tr => !tr.hidden).map(tr => entries.find(e => e.tr === tr));

function filterRows() {
    const text = byId("filter").value.trim().toLowerCase(),
        counts = Object.fromEntries(STATES.map(s => [s, 0]));
    const words = text.split(/\s+/).filter(word => word);
    let shown = 0,
        all = 0;
    for (const entry of entries) {
        const here = inPlace(entry.row);
        if (here) {
            counts[entry.state]++;
            all++;
        }
        const keep =
            here && (!wanted.size || wanted.has(entry.state)) && words.every(word => entry.name.includes(word));
        entry.tr.hidden = !keep;
        shown += keep;
    }
    for (const tile of document.querySelectorAll(".tile")) {
        tile.querySelector("b").textContent = counts[tile.dataset.state];
        tile.disabled = !counts[tile.dataset.state] && !wanted.has(tile.dataset.state);
    }
    byId("shown").textContent = shown === all ? plural(all, "benchmark") : `${shown} of ${plural(all, "benchmark")}`;
    byId("none").hidden = shown > 0;
    const several = new Set(rowsInPlace().map(row => row.machine + "/" + row.branch)).size > 1;
    byId("overview").classList.toggle("places", several);
}

// Marks the chosen row; where there is none here, the worst one in sight is taken.
function chooseRow() {
    const here = entries.filter(entry => inPlace(entry.row));
    const named = here.filter(entry => entry.row.benchmark === state.benchmark);
    if (chosenEntry) chosenEntry.pick.removeAttribute("aria-current");
    chosenEntry = named.find(entry => placeOf(entry.row) === state.at) || named[0] || visible()[0] || here[0] || null;
    for (const entry of entries) entry.tr.classList.toggle("chosen", entry === chosenEntry);
    if (chosenEntry) chosenEntry.pick.setAttribute("aria-current", "true");
}

const pickEntry = entry => choose({benchmark: entry.row.benchmark, at: placeOf(entry.row), metric: ""});

// The next (1) or previous (-1) row in sight, with the focus on it.
function step(by) {
    const rows = visible(),
        at = rows.indexOf(chosenEntry);
    const entry = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    if (!entry) return;
    pickEntry(entry);
    entry.pick.focus({preventScroll: true});
    entry.tr.scrollIntoView({block: "nearest"});
}

function fillSelect(select, names, all, name) {
    if (names.length > 1) select.append(make("option", {value: ""}, all));
    select.append(...names.map(text => make("option", {value: text}, text)));
    select.value = state[name];
    select.addEventListener("change", () => choose({[name]: select.value}));
}

// What is shown first: every machine, and the main branch where there is one, else that of the newest run.
function defaultPlace() {
    const known = ["main", "master"].find(name => DATA.branches.includes(name));
    if (!DATA.machines.includes(state.machine)) state.machine = DATA.machines.length === 1 ? DATA.machines[0] : "";
    if (!DATA.branches.includes(state.branch))
        state.branch = known || (DATA.runs.count ? fact(DATA.runs.count - 1, BRANCH) : "");
}

function startOverview() {
    defaultPlace();
    fillSelect(byId("machine"), DATA.machines, "All machines", "machine");
    fillSelect(byId("branch"), DATA.branches, "All branches", "branch");
    for (const th of document.querySelectorAll("#overview th[data-sort]")) {
        const button = make("button", {type: "button"}, ...th.childNodes);
        button.addEventListener("click", () => {
            order = {by: th.dataset.sort, down: order.by === th.dataset.sort ? !order.down : true};
            sortRows();
        });
        th.append(button);
    }
    for (const tile of document.querySelectorAll(".tile"))
        tile.addEventListener("click", () => {
            const pressed = !wanted.delete(tile.dataset.state);
            if (pressed) wanted.add(tile.dataset.state);
            tile.setAttribute("aria-pressed", String(pressed));
            filterRows();
        });
    for (const entry of entries)
        entry.tr.addEventListener("click", event => {
            if (event.target.closest("a")) return;
            pickEntry(entry);
            const above = getComputedStyle(byId("detail")).position === "static"; // in narrow windows
            if (above) byId("detail").scrollIntoView();
        });
    byId("filter").addEventListener("input", filterRows);
    sortRows();
    filterRows();
    chooseRow();
    watch(["machine", "branch"], filterRows);
    watch(["machine", "branch", "benchmark", "at"], chooseRow);
}
