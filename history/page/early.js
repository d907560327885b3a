// SPDX-License-Identifier: Apache-2.0
// history/page/early.js - before anything is drawn: there is JavaScript, so the page need not show everything at once.
document.documentElement.classList.replace("plain", "live");
