// SPDX-License-Identifier: Apache-2.0
// history/page/main.js - views, lists, keys, and the start.

const VIEWS = ["benchmarks", "changes", "compare", "environment"];

function drawViews() {
    for (const view of VIEWS) {
        const tab = byId("tab-" + view),
            chosen = view === state.view;
        byId(view).hidden = !chosen;
        byId(view).classList.remove("later");
        tab.setAttribute("aria-selected", String(chosen));
        tab.tabIndex = chosen ? 0 : -1;
    }
}

// Arrow keys walk along the tabs, as those of every tab list do.
function startViews() {
    const tabs = VIEWS.map(view => byId("tab-" + view));
    tabs.forEach((tab, i) => {
        tab.addEventListener("click", () => choose({view: VIEWS[i]}));
        tab.addEventListener("keydown", event => {
            const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
            if (!by) return;
            const next = (i + by + tabs.length) % tabs.length;
            choose({view: VIEWS[next]});
            tabs[next].focus();
        });
    });
    watch(["view"], drawViews);
    drawViews();
}

// The list of changes follows machine and branch; a line leads to its benchmark.
function startChanges() {
    const lines = [...document.querySelectorAll("#change-list tbody tr")].map(tr => ({
        tr,
        row: DATA.rows[tr.dataset.row],
    }));
    const draw = () =>
        lines.forEach(({tr, row}) => {
            tr.hidden = !inPlace(row);
        });
    for (const {tr, row} of lines.filter(line => line.tr.dataset.series)) {
        const name = tr.querySelector("th"),
            pick = make("button", {type: "button", class: "pick"}, ...name.childNodes);
        pick.addEventListener("click", () =>
            choose({
                view: "benchmarks",
                benchmark: row.benchmark,
                at: placeOf(row),
                metric: metricOf(DATA.series[tr.dataset.series]).name,
            })
        );
        name.append(pick);
    }
    watch(["machine", "branch"], draw);
    draw();
}

function drawMoved() {
    if (state.view !== "environment") return;
    const places = new Set(rowsInPlace().map(placeOf));
    const rows = [...places]
        .flatMap(place => {
            const runs = placeRuns(0).get(place);
            return movesIn(runs).map(move => ({place, run: runs[move.at], move}));
        })
        .sort((a, b) => b.run - a.run);
    byId("moves").replaceChildren(
        make("h2", {}, "What changed in it"),
        rows.length === 0
            ? make("p", {}, "Nothing, on this machine and branch.")
            : make(
                  "table",
                  {class: "list"},
                  make(
                      "thead",
                      {},
                      make(
                          "tr",
                          {},
                          ...["Date", "Commit", "Machine and branch", "Fact", "Before", "After"].map(text =>
                              make("th", {scope: "col"}, text)
                          )
                      )
                  ),
                  make(
                      "tbody",
                      {},
                      ...rows.map(({place, run, move}) =>
                          make(
                              "tr",
                              {},
                              make("td", {}, dateOf(run)),
                              make("td", {}, commitElement(commitOf(run))),
                              make("td", {}, place),
                              make("th", {scope: "row"}, move.name),
                              make("td", {}, move.before ?? "none"),
                              make("td", {}, move.after ?? "none")
                          )
                      )
                  )
              )
    );
}

const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    t: nextTheme,
    "?": () => byId("help").showModal(),
    "/": () => {
        choose({view: "benchmarks"});
        byId("filter").focus();
    },
    m: () => {
        if (!panel) return;
        const names = seriesOfRow(panel.chart.row).map(series => metricOf(series).name);
        choose({metric: names[(names.indexOf(panel.chart.metric.name) + 1) % names.length]});
        say(panel.chart.metric.label);
    },
    z: () => choose({latest: state.latest ? 0 : 50}),
    d: () => choose({disturbed: state.disturbed === "shown" ? "hidden" : "shown"}),
    a: () => mark("a"),
    b: () => mark("b"),
};

function mark(name) {
    if (!panel) return;
    choose({[name]: panel.chart.runs[panel.at]});
    say(`${name.toUpperCase()} is ${shortCommit(commitOf(state[name]))}`);
}

function onKey(event) {
    const target = event.target,
        typing = target.matches("input[type=search], select, dialog *");
    if (event.key === "Escape" && target.id === "filter") {
        target.value = "";
        filterRows();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    const view = VIEWS[Number(event.key) - 1],
        action = view ? () => choose({view}) : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action();
}

readAddress();
if (!VIEWS.includes(state.view)) state.view = "benchmarks";
applyTheme();
startViews();
startOverview();
startDetail();
startChanges();
startCompare();
watch(["view", "machine", "branch"], drawMoved);
drawDetail();
drawCompare();
drawMoved();
byId("help-open").addEventListener("click", () => byId("help").showModal());
document.addEventListener("keydown", onKey);
