/** Lets people choose between light and dark, and remembers it. */

import { put, set } from "./dom.js";

const THEMES = ["auto", "light", "dark"];
const KEY = "nr-llm-theme";

/** @param {HTMLElement} button turns from one to the next */
export function theme(button) {
  const choose = (name) => {
    set(document.documentElement, "data-theme", name);
    put(button, `Theme: ${name}`);
  };
  const kept = remembered();
  choose(THEMES.includes(kept) ? kept : "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3];
    choose(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {} // a browser that keeps nothing
  });
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
