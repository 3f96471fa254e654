/** Gives the page its keys; while somebody types they are letters. */

import { h } from "./dom.js";

const KEYS = {
  "/": ["filter", "Filter the steps"],
  j: ["next", "Next step"],
  k: ["previous", "Previous step"],
  Enter: ["open", "Go to the details"],
  "]": ["nextRound", "Next round"],
  "[": ["previousRound", "Previous round"],
  r: ["rerun", "Run again"],
  ".": ["cancel", "Cancel"],
  "?": ["help", "These keys"],
};

/** @param {HTMLDialogElement} dialog @param {Object<string, (event: KeyboardEvent) => void>} acts */
export function keys(dialog, acts) {
  const rows = Object.entries(KEYS).map(([key, [, text]]) =>
    h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)),
  );
  const marks = ["↑ request", "● reply", "◆ tool call", "■ a person"].map((text) => h("li", {}, text));
  dialog.append(
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", { class: "keys" }, rows),
    h("h3", {}, "Marks"),
    h("ul", { class: "marks-list" }, marks),
    h("button", { type: "button", class: "main", click: () => dialog.close() }, "Close"),
  );
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    const types = target.closest("input, textarea, select, [contenteditable]") || dialog.open;
    const presses = event.key === "Enter" && target.closest("button, a, summary") && !target.closest(".step");
    if (types || presses || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    const act = acts[KEYS[event.key][0]];
    if (act(event) !== false) event.preventDefault();
  });
}
