// SPDX-License-Identifier: Apache-2.0
// tests/page/disturbed.mjs - runs that the bench marks as disturbed: drawn hollow, named, left out of every verdict.
import {check, ink, text} from "./browser.mjs";

const NAME = "plain/nn/48x192x768"; // a benchmark of book.h with two disturbed runs of 120, the newest one of them

// On the page of rich histories: one benchmark, its chart with and without, what is said of it.
export async function testDisturbed(page) {
    await page.keyboard.press("1");
    await page.selectOption("#machine", "xeon-1");
    await page.selectOption("#branch", "main");
    await page.fill("#filter", NAME);
    const row = page.locator("#overview tbody tr:visible");
    await row.first().click();
    await page.locator(".segment label", {hasText: "Time"}).click();
    check((await row.getAttribute("class")) === "steady chosen", "60 % more in the newest run is no verdict");
    check(/2 disturbed, the newest too/.test(await row.locator("th").innerText()), "the row says so");
    check(/^Steady at .* over 118 runs\.$/.test(await text(page, ".verdict")), await text(page, ".verdict"));
    check(/disturbed run, left out/.test(await text(page, ".legend")), await text(page, ".legend"));
    check(/Disturbed\s+left out/.test(await text(page, ".readout")), "the readout", await text(page, ".readout"));
    check(/disturbed$/.test(await page.getAttribute(".slider", "aria-valuetext")), "in words");
    check((await page.locator("#detail tr.disturbed").count()) === 0, "the table is made when it is opened");
    await page.click("#detail summary");
    await page.locator("#detail details table").waitFor();
    check((await page.locator("#detail tr.disturbed").count()) === 2, "in the table of runs");

    const [shown] = await ink(page);
    await page.uncheck("#show-disturbed");
    const [hidden] = await ink(page);
    check(shown.sum !== hidden.sum && page.url().includes("disturbed=hidden"), "the switch", page.url());
    check(!/disturbed/.test(await text(page, ".legend")), "no legend of what is not drawn");
    await page.locator("#overview .chosen .pick").focus();
    await page.keyboard.press("d");
    check((await ink(page))[0].sum === shown.sum && (await page.isChecked("#show-disturbed")), "and back, by its key");

    await page.click("#tab-compare"); // the newest two runs: one of this benchmark is disturbed
    const line = page.locator("#compare tbody tr", {hasText: NAME}).first();
    check(/disturbed$/.test(await line.innerText()), "compared", await line.innerText());
    check((await line.getAttribute("class")) === "steady", "but not judged");
    await page.keyboard.press("1");
    await page.fill("#filter", "");
    await row.first().click();
    check((await page.locator("#show-disturbed").count()) === 0, "no switch where there are none");
}

// Without JavaScript the rows say it, and the head how many there are.
export async function testNotedInTable(page) {
    const noted = page.locator("#overview small.disturbed");
    check((await noted.count()) === 12, "3 benchmarks on 2 machines and 2 branches", await noted.count());
    check((await noted.first().isVisible()) && /^\u25cb 2 disturbed/.test(await noted.first().innerText()), "in words");
    check(/; \d+ of \d+ points disturbed$/.test(await text(page, "#meta")), await text(page, "#meta"));
}

// A history of which nothing counts is drawn, and nothing is said of it.
export async function testStorm(page) {
    const row = page.locator("#overview tbody tr:visible").first();
    await page.selectOption("#branch", "");
    await row.click();
    check(/^Only \d runs so far: too few/.test(await text(page, ".verdict")), await text(page, ".verdict"));
    await page.locator(".segment label", {hasText: "Time"}).click();
    check(/^few/.test(await row.getAttribute("class")), await row.getAttribute("class"));
    check((await page.locator("#detail canvas, #detail .plain-chart circle").count()) > 1, "it is drawn");
    for (const key of ["z", "d", "m", "j", "a", "2", "3", "4", "1"]) await page.keyboard.press(key);
}
