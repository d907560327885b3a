// SPDX-License-Identifier: Apache-2.0
// history/page/theme.js - light, dark, or as the system is.

const THEMES = ["auto", "light", "dark"];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let theme = THEMES.includes(recall("fovea-theme")) ? recall("fovea-theme") : "auto";

function applyTheme() {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId("theme").textContent = "Theme: " + theme;
    for (const watcher of watchers) if (watcher.names.includes("theme")) watcher.draw();
}

function nextTheme() {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    remember("fovea-theme", theme);
    applyTheme();
    say("Theme: " + theme);
}

// A colour of the style, as the theme has it just now: "rgb(58, 110, 165)"; canvases do not know light-dark().
const probe = document.body.appendChild(make("span", {hidden: true}));
function colour(name) {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
}
const fade = (name, alpha) => colour(name).replace("rgb(", "rgba(").replace(")", `, ${alpha})`);

byId("theme").addEventListener("click", nextTheme);
systemDark.addEventListener("change", applyTheme);
