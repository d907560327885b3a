// SPDX-License-Identifier: Apache-2.0
// history/page/theme.js - light, dark, or as the system is.

const THEMES = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let theme = THEMES.includes(recall("fovea-theme")) ? recall("fovea-theme") : "auto";

function applyTheme() {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = "Theme: " + theme;
    colours = new Map();
    for (const watcher of watchers) if (watcher.names.includes("theme")) watcher.draw();
}

function nextTheme() {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember("fovea-theme", theme);
    applyTheme();
    say("Theme: " + theme);
}

// Colours of the style as the theme has them just now, "rgb(58, 110, 165)": canvases do not know light-dark(). They are
// asked once for each theme, as every answer makes the browser work out all styles.
const probe = document.body.appendChild(make("span", {hidden: true}));
let colours = new Map();
function colour(name) {
    if (!colours.has(name)) {
        probe.style.color = `var(--${name})`;
        colours.set(name, getComputedStyle(probe).color);
    }
    return colours.get(name);
}
const fade = (name, alpha) => colour(name).replace("rgb(", "rgba(").replace(")", `, ${alpha})`);
const FONT = getComputedStyle(document.body).fontFamily;

byId("theme").addEventListener("click", nextTheme);
systemDark.addEventListener("change", applyTheme);
