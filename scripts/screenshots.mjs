// SPDX-License-Identifier: Apache-2.0
// scripts/screenshots.mjs - pictures of a page for docs/img, in light and dark, in a headless Chromium.
//
// usage: node scripts/screenshots.mjs PAGE.html NODE_MODULES NAME [STATE]
//        makes docs/img/NAME-light.png and docs/img/NAME-dark.png; STATE is what stands behind the # of the address
// pngquant (Debian's) makes them a third as large.
import {execFileSync} from "node:child_process";
import {mkdirSync, statSync} from "node:fs";
import {resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {launch, open} from "../tests/page/browser.mjs";

const [page, modules, name, state = ""] = process.argv.slice(2);
if (!name) {
    console.error("usage: node scripts/screenshots.mjs PAGE.html NODE_MODULES NAME [STATE]");
    process.exit(2);
}
const folder = fileURLToPath(new URL("../docs/img/", import.meta.url));
mkdirSync(folder, {recursive: true});
const browser = await launch("screenshots", resolve(modules));
for (const colorScheme of ["light", "dark"]) {
    const opened = await open(browser, resolve(page), {
        colorScheme,
        viewport: {width: 1280, height: 800},
        hash: state && "#" + state,
    });
    const path = `${folder}${name}-${colorScheme}.png`;
    await opened.page.waitForTimeout(500);
    await opened.page.screenshot({path});
    execFileSync("pngquant", ["--force", "--speed", "1", "--output", path, "256", path]);
    console.log(`${path}: ${Math.round(statSync(path).size / 1000)} kB`);
    await opened.context.close();
}
await browser.close();
