// SPDX-License-Identifier: Apache-2.0
// tests/page/browser.mjs - a headless Chromium that notes all a page says and asks for; skips by name; checks.
import {execFileSync} from "node:child_process";
import {existsSync, readFileSync} from "node:fs";
import {createRequire} from "node:module";
import {delimiter, join} from "node:path";
import {fileURLToPath} from "node:url";

export let failures = 0;

export function check(condition, ...what) {
    if (condition) return;
    failures++;
    const line = new Error().stack.split("\n")[2].match(/(\w+\.mjs):(\d+)/);
    console.log(`FAIL ${line ? line[1] + " line " + line[2] : ""}:`, ...what);
}

// Ends with the status of a skip, which tests/skips.txt must allow.
export function skip(test, name, reason) {
    const lines = readFileSync(fileURLToPath(new URL("../skips.txt", import.meta.url)), "utf8").split("\n");
    const allowed = lines.some(line => line.split(" ").slice(0, 2).join(" ") === `${test} ${name}`);
    console.log(
        allowed ? `SKIP ${test} ${name}: ${reason}` : `FAIL ${test} ${name} skipped, not in tests/skips.txt: ${reason}`
    );
    process.exit(allowed ? 77 : 1);
}

// Chromium of this system, by the playwright-core that the lock file names.
export async function launch(test, modules) {
    const program = ["chromium", "chromium-browser", "google-chrome"]
        .flatMap(name => process.env.PATH.split(delimiter).map(folder => join(folder, name)))
        .find(existsSync);
    if (!program) skip(test, "chromium", "no chromium in PATH (Debian's chromium)");
    if (!existsSync(join(modules, "playwright-core")))
        skip(test, "npm", `no playwright-core in ${modules}: this was built without npm's packages`);
    const {chromium} = createRequire(join(modules, "x.js"))("playwright-core");
    return chromium.launch({
        executablePath: program,
        args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
        timeout: 180000,
    });
}

// Opens a file and notes: messages of the console, errors, requests, dialogs.
export async function open(browser, file, options = {}) {
    const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
    const page = await context.newPage(),
        notes = {said: [], asked: []};
    page.setDefaultTimeout(60000);
    page.on("console", message => notes.said.push(`${message.type()}: ${message.text()}`));
    page.on("pageerror", error => notes.said.push(String(error.stack)));
    page.on("dialog", dialog => {
        notes.said.push("dialog: " + dialog.message());
        dialog.dismiss();
    });
    page.on("request", request => notes.asked.push(request.url()));
    await page.goto("file://" + file + (options.hash || ""));
    return {page, context, notes};
}

export const text = (page, selector) => page.locator(selector).first().innerText();

// How much is drawn on each chart of the panel, and a sum of its pixels.
export const ink = page =>
    page.evaluate(() =>
        [...document.querySelectorAll("#detail canvas")].map(canvas => {
            const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            copy.canvas.width = canvas.width;
            copy.canvas.height = canvas.height;
            copy.drawImage(canvas, 0, 0);
            const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
            let sum = 0,
                drawn = 0;
            for (let i = 0; i < data.length; i += 4) {
                drawn += data[i + 3] > 0;
                sum = (sum * 31 + data[i] + 7 * data[i + 1] + 13 * data[i + 2]) >>> 0;
            }
            return {drawn, sum, width: canvas.width};
        })
    );

// Closes a page that had nothing to say and asked for nothing but itself.
export async function close({page, context, notes}, name) {
    await page.waitForTimeout(100);
    check(notes.said.length === 0, name, notes.said);
    check(notes.asked.filter(url => !url.startsWith("data:")).length === 1, name, notes.asked);
    await context.close();
}

// Writes a page of a made-up history and returns its lines of figures, split.
export function makePage(program, file, ...shape) {
    const text = execFileSync(program, [file, ...shape.map(String)], {encoding: "utf8", maxBuffer: 1 << 28});
    return text.trim()
        ? text
              .trim()
              .split("\n")
              .map(line => line.split("\t"))
        : [];
}
