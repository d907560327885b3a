// SPDX-License-Identifier: Apache-2.0
// tests/page/page.mjs - the page in a headless Chromium: it draws, is silent, asks for nothing, and does what it says.
//
// usage: node page.mjs PAGE_MAKE PAGE_MAKE_PLAIN NODE_MODULES      (two programs: with uPlot, and without)
import {mkdtempSync, rmSync, statSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {check, close, failures, ink, launch, makePage, open, text} from "./browser.mjs";
import {testDisturbed, testNotedInTable, testStorm} from "./disturbed.mjs";

const [program, plainProgram, modules] = process.argv.slice(2);
const small = !!process.env.FOVEA_TEST_SMALL;
const folder = mkdtempSync(join(tmpdir(), "fovea-page-"));
const path = name => join(folder, name + ".html");
const RICH = {benchmarks: 24, machines: 2, branches: 2, runs: 120};

const rowsInSight = page => page.locator("#overview tbody tr:visible").count();
async function testOverview(page) {
    const counts = await page.locator("#tiles b").allInnerTexts();
    check(counts.join() === "6,2,6,32,2", "tiles", counts); // of 24 on two machines, one branch; see book.h
    check((await rowsInSight(page)) === 48, "rows of the main branch", await rowsInSight(page));
    check(
        (await page.locator("#overview tbody tr:visible").first().getAttribute("class")) === "worse chosen",
        "worst first"
    );
    check(
        /^\d+\.\d % slower after [0-9a-f]{9}, in [0-9a-f]{9}, 12 runs so far/.test(await text(page, ".verdict")),
        await text(page, ".verdict")
    );
    await page.selectOption("#machine", "epyc-2");
    check((await rowsInSight(page)) === 24 && (await text(page, ".place-of")) === "epyc-2, main", "machine");
    await page.selectOption("#branch", "topic-1");
    check((await text(page, ".place-of")) === "epyc-2, topic-1", "branch");
    const fresh = await page.locator("#tiles b").allInnerTexts(); // by their last run; what main has is main's
    check(fresh.join() === "3,0,0,20,1", "a branch is judged behind main", fresh);
    check(/^[45]\d\.\d % slower .*, 1 run so far/.test(await text(page, ".verdict")), await text(page, ".verdict"));
    await page.selectOption("#branch", "main");
    await page.fill("#filter", "packed 160x");
    check((await rowsInSight(page)) === 1, "filter", await rowsInSight(page));
    await page.fill("#filter", "");
    await page.click(".tile.better");
    check((await rowsInSight(page)) === 3, "tile");
    await page.click(".tile.better");
    await page.click("th[data-sort=name] button");
    const names = await page.locator("#overview tbody tr:visible .pick").allInnerTexts();
    check(names[0] === "gemm/f32/packed/nt/32x128x768" && names.length === 24, "by name", names);
    await page.click("th[data-sort=change] button");
    await page.selectOption("#machine", "");
}

async function testChart(page, series) {
    const before = await ink(page),
        label = await page.locator("#detail .chart").first().getAttribute("aria-label");
    check(before.length === 2 && before.every(canvas => canvas.drawn > 2000), "charts are drawn", before);
    await page.locator("#overview tr.better:visible").first().click();
    const after = await ink(page);
    check(after[0].sum !== before[0].sum && after[1].sum !== before[1].sum, "another series, another chart");
    check(label !== (await page.locator("#detail .chart").first().getAttribute("aria-label")), "its name");
    check(/faster after/.test(await text(page, ".verdict")), await text(page, ".verdict"));
    for (const [choice, name] of [
        ["% of peak", "metric"],
        ["Latest 50", "range"],
        ["Dates", "axis"],
    ]) {
        const [was] = await ink(page);
        await page.locator(".segment label", {hasText: choice}).click();
        check((await ink(page))[0].sum !== was.sum, name);
    }
    await page.locator(".segment label", {hasText: "Time"}).click();
    await page.locator(".segment label", {hasText: "All"}).click();

    // The figures in the table under the chart are those the page was made of.
    const name = await text(page, "#detail h2"),
        place = (await text(page, ".place-of")).split(", ");
    await page.click("#detail summary");
    await page.locator("#detail details table").waitFor(); // it is made when the browser says that they are open
    const shown = (await page.locator("#detail details td:nth-child(3)").allInnerTexts()).reverse();
    const units = {s: 1, ms: 1e-3, "\u00b5s": 1e-6, ns: 1e-9};
    const truth = series
        .find(s => s[0] === name && s[1] === "real_time" && s[2] === place[0] && s[3] === place[1])
        .slice(4);
    const wrong = shown.filter((figure, i) => {
        const [value, unit] = figure.split(" ");
        return Math.abs((Number(value) * units[unit]) / Number(truth[i]) - 1) > 1e-3;
    });
    check(
        shown.length === RICH.runs && truth.length === RICH.runs && wrong.length === 0,
        "figures",
        wrong,
        shown.length
    );

    const wide = (await ink(page))[0].width;
    await page.setViewportSize({width: 1000, height: 900});
    await page.waitForTimeout(300);
    check((await ink(page))[0].width !== wide, "the chart follows the width of the window");
    await page.setViewportSize({width: 1440, height: 900});
}

async function testKeys(page) {
    const chosen = () => text(page, "#overview tr.chosen .pick");
    await page.locator("#overview tbody tr:visible").first().click();
    const first = await chosen();
    await page.keyboard.press("j");
    const second = await chosen();
    check(first !== second || (await page.locator("#overview tr.chosen").getAttribute("data-row")) === "1", "j");
    check(
        (await page.evaluate(() => document.activeElement.getAttribute("aria-current"))) === "true",
        "the focus follows"
    );
    await page.keyboard.press("k");
    check((await chosen()) === first, "k");
    await page.focus(".slider");
    const run = await text(page, ".readout a");
    await page.keyboard.press("ArrowLeft");
    check((await text(page, ".readout a")) !== run, "a run earlier");
    check(
        /^[0-9a-f]{9}, 2025-\d\d-\d\d, [\d.]+ .s$/.test(await page.getAttribute(".slider", "aria-valuetext")),
        "in words"
    );
    await page.keyboard.press("a");
    await page.keyboard.press("z");
    check((await page.locator("[name=segment-Runs]:checked").getAttribute("value")) === "50", "z");
    await page.keyboard.press("z");
    await page.keyboard.press("m");
    check(/Instructions/.test(await page.locator("#detail .chart").first().getAttribute("aria-label")), "m");
    await page.keyboard.press("/");
    await page.keyboard.type("jk3");
    check(
        (await page.inputValue("#filter")) === "jk3" && (await page.locator("#none").isVisible()),
        "typing is no command"
    );
    await page.keyboard.press("Escape");
    check((await rowsInSight(page)) === 48, "Escape empties the filter");
    await page.locator("#overview .chosen .pick").focus();
    await page.keyboard.press("?");
    check(await page.locator("#help").isVisible(), "?");
    await page.keyboard.press("Escape");
    for (const [key, view] of [
        ["2", "changes"],
        ["3", "compare"],
        ["4", "environment"],
        ["1", "benchmarks"],
    ]) {
        await page.keyboard.press(key);
        check(
            (await page.locator("#" + view).isVisible()) &&
                (await page.locator("main > section:visible").count()) === 1,
            view
        );
    }
}

async function testViews(page) {
    await page.locator(".segment label", {hasText: "Time"}).click();
    await page.click("#tab-compare");
    check((await text(page, "#compare .sum")).startsWith("24 benchmarks:"), await text(page, "#compare .sum"));
    const runs = await page
        .locator("#run-a option")
        .evaluateAll(options => options.map(option => [option.value, option.textContent]));
    await page.selectOption("#machine", "xeon-1");
    const early = runs.filter(([, name]) => name.includes("xeon-1"))[70][0];
    await page.selectOption("#run-a", early);
    const worst = await page.locator("#compare tbody tr").first().innerText();
    check(/\+2\d\.\d %/.test(worst) && /worse$/.test(worst), "20 % and noise", worst);
    check(
        (await page.locator("#compare caption").isVisible()) && /compiler/.test(await text(page, "#compare .facts")),
        "facts"
    );
    await page.click("#compare button");
    check(/\u22121\d\.\d %/.test(await page.locator("#compare tbody tr.better").last().innerText()), "swapped");
    await page.click("#tab-environment");
    check(/gcc 12\.2\.0\s+gcc 14\.2\.0/.test(await text(page, "#moves")), "what changed", await text(page, "#moves"));
    check(!/load/.test(await text(page, "#moves")), "load is noise");
    await page.selectOption("#machine", "");
    await page.click("#tab-changes");
    check((await page.locator("#change-list tr.head:visible").count()) > 3, "changes by run");
    const line = page.locator("#change-list tr.better:visible").first(),
        name = await line.locator("th").innerText();
    await line.locator(".pick").click();
    check((await text(page, "#detail h2")) === name, "a change leads to its benchmark");
    const address = page.url();
    check(address.includes("benchmark=" + encodeURIComponent(name)), "the address says what is shown", address);
}

async function testTheme(page) {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground(),
        [chart] = await ink(page);
    await page.emulateMedia({colorScheme: "dark"});
    await page.waitForTimeout(200);
    const dark = await ground(),
        [darkChart] = await ink(page);
    check(light !== dark && chart.sum !== darkChart.sum, "as the system is", light, dark);
    await page.click("#theme");
    check((await ground()) === light && (await text(page, "#theme")) === "Theme: light", "light by the switch");
    await page.click("#theme");
    check((await ground()) === dark, "dark by the switch");
    await page.emulateMedia({colorScheme: "light"});
    check((await ground()) === dark, "the switch is stronger than the system");
    await page.click("#theme");
    check((await ground()) === light, "and back");
}

// Everything one can operate has a name that a screen reader can say.
async function testNames(page) {
    const client = await page.context().newCDPSession(page),
        {nodes} = await client.send("Accessibility.getFullAXTree");
    const roles = [
        "button",
        "link",
        "slider",
        "combobox",
        "searchbox",
        "tab",
        "radio",
        "row header",
        "image",
        "dialog",
    ];
    const nameless = nodes.filter(node => !node.ignored && roles.includes(node.role?.value) && !node.name?.value);
    check(
        nameless.length === 0,
        "without a name",
        nameless.map(node => node.role.value)
    );
    check(
        nodes.some(node => node.role?.value === "slider" && node.name.value === "Run"),
        "the slider"
    );
}

async function testRich(browser) {
    const series = makePage(program, path("rich"), RICH.benchmarks, RICH.runs, RICH.machines, RICH.branches, "rich");
    const opened = await open(browser, path("rich")),
        {page} = opened;
    check(/Charts by uPlot/.test(await text(page, "footer")), await text(page, "footer"));
    await testOverview(page);
    await testChart(page, series);
    await testTheme(page);
    await testKeys(page);
    await testViews(page);
    await testNames(page);
    await testDisturbed(page);
    await close(opened, "rich");
}

async function testNoScript(browser) {
    const opened = await open(browser, path("rich"), {javaScriptEnabled: false}),
        {page} = opened;
    check(
        (await rowsInSight(page)) === RICH.benchmarks * RICH.machines * RICH.branches,
        "all rows",
        await rowsInSight(page)
    );
    check((await page.locator("#overview polyline").count()) > 90, "sparklines");
    check(await page.locator("#overview td:has-text('xeon-1')").first().isVisible(), "machines are a column");
    check(
        (await page.locator("#change-list").isVisible()) && (await page.locator("#environment table").isVisible()),
        "lists"
    );
    check(
        (await page.locator("noscript").count()) === 1 && !(await page.locator("#theme").isVisible()),
        "no dead buttons"
    );
    await testNotedInTable(page);
    await close(opened, "without JavaScript");
}

// Without uPlot: the same panel with plain charts, and the page says why.
async function testPlain(browser) {
    makePage(plainProgram, path("plain"), 8, 40, 1, 1, "rich");
    const opened = await open(browser, path("plain")),
        {page} = opened,
        chart = page.locator(".plain-chart").first();
    check(/built without uPlot/.test(await text(page, "footer")), await text(page, "footer"));
    const before = await chart.innerHTML();
    check((await page.locator(".plain-chart").count()) === 2 && /polyline/.test(before), "drawn");
    await chart.hover();
    await page.keyboard.press("j");
    check((await page.locator(".plain-chart").first().innerHTML()) !== before, "another series, another chart");
    await page.keyboard.press("z");
    await close(opened, "without uPlot");
}

// Names that try to break out, and histories of nothing and of one run.
async function testEdges(browser) {
    makePage(program, path("nasty"), 8, 40, 1, 1, "nasty");
    const nasty = await open(browser, path("nasty"));
    check((await nasty.page.title()) === 'a < b & "c" </title>', await nasty.page.title());
    check(
        (await nasty.page.locator("#overview .pick").allInnerTexts()).some(name => name.includes("<script>alert(1)")),
        "as text"
    );
    check((await nasty.page.locator("img").count()) === 0, "no element came of it");
    for (const key of ["2", "3", "4"]) await nasty.page.keyboard.press(key);
    await close(nasty, "nasty");
    for (const [name, benchmarks, runs] of [
        ["empty", 0, 0],
        ["one", 1, 1],
        ["two", 2, 2],
    ]) {
        makePage(program, path(name), benchmarks, runs, 1, 1);
        const opened = await open(browser, path(name));
        for (const key of ["j", "z", "m", "a", "2", "3", "4", "1"]) await opened.page.keyboard.press(key);
        await close(opened, name);
    }
    for (const [made, name] of [
        [program, "storm"],
        [plainProgram, "plain-storm"],
    ]) {
        makePage(made, path(name), 2, 9, 1, 2, "storm");
        const opened = await open(browser, path(name));
        await testStorm(opened.page);
        await close(opened, name);
    }
}

// 200 series of 1,000 runs: size is asserted, time is told.
async function testBig(browser) {
    makePage(program, path("big"), 100, small ? 200 : 1000, 1, 1);
    const bytes = statSync(path("big")).size;
    check(bytes < 3e6, "bytes", bytes);
    const opened = await open(browser, path("big"));
    const [load, drawn] = await opened.page.evaluate(
        () =>
            new Promise(done =>
                requestAnimationFrame(() =>
                    setTimeout(() => {
                        const [entry] = performance.getEntriesByType("navigation");
                        done([entry.loadEventEnd, performance.now()]);
                    })
                )
            )
    );
    const started = Date.now();
    for (let i = 0; i < 20; i++) await opened.page.keyboard.press("j");
    const step = (Date.now() - started) / 20;
    console.log(
        `200 series x ${small ? 200 : 1000} runs: ${(bytes / 1e6).toFixed(2)} MB, loaded and drawn in ` +
            `${Math.round(Math.min(load, drawn))} ms, the next series in ${Math.round(step)} ms`
    );
    await close(opened, "big");
}

const browser = await launch("history_page", modules);
try {
    for (const test of [testRich, testNoScript, testPlain, testEdges, testBig]) await test(browser);
} finally {
    await browser.close();
    rmSync(folder, {recursive: true});
}
console.log("failed:", failures);
process.exit(failures ? 1 : 0);
