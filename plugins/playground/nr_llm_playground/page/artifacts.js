/** Draws what tools hand to people: tables, texts and diffs; anything else, or a broken one, as its JSON. */

import { h, longText, told } from "./dom.js";
import { shape } from "./table.js";
import { tableView } from "./tableview.js";
import { oneLine, stringify } from "./text.js";

const MARKS = { " ": "kept", "+": "added", "-": "removed", "@": "place", "\\": "note" };
const OMITTED = "Artifacts omitted";

/** @param {any} artifact @returns {HTMLElement} */
export function artifactView(artifact) {
  const { type, label, data } = artifact ?? {};
  const name = typeof label === "string" && label ? label : "Artifact";
  if (type === "table" && shape(data)) return h("figure", { "data-type": "table" }, tableView(name, data));
  const draw = { text: textOf, diff: diffOf }[type] ?? (() => null);
  const omitted = type === "text" && label === OMITTED;
  const body = draw(data, name) ?? [
    h(
      "p",
      { class: "faint" },
      `Of a type or shape that this page cannot draw: ${oneLine(type, 40)}. This is all of it:`,
    ),
    jsonView(artifact, name),
  ];
  return h(
    "figure",
    { "data-type": oneLine(type, 20), "data-omitted": omitted || null },
    told("figcaption", {}, name),
    body,
  );
}

const textOf = (data, name) => (typeof data?.text === "string" ? longText(data.text, { label: name }) : null);

function diffOf(data, name) {
  const path = (value) => value === null || typeof value === "string";
  const good = (line) => Array.isArray(line) && line.length === 2 && line[0] in MARKS && typeof line[1] === "string";
  if (!data || !path(data.before) || !path(data.after) || !Array.isArray(data.lines) || !data.lines.every(good))
    return null;
  const { before, after } = data;
  const title =
    before === null
      ? `New: ${after}`
      : after === null
        ? `Removed: ${before}`
        : before === after
          ? after
          : `${before} → ${after}`;
  return [title !== name && told("p", { class: "path" }, title), linesView(data.lines, name)];
}

/**
 * Draws lines of a diff; each says by its mark and by a word what it is, not by colour alone.
 * @param {Array<[string, string]>} lines
 */
export function linesView(lines, name) {
  const drawn = lines
    .slice(0, 5000)
    .map(([mark, text]) =>
      h(
        "div",
        { "data-line": MARKS[mark] },
        h("span", { class: "sign" }, mark === "@" ? "@@" : mark),
        told("span", {}, text, { exact: true }),
      ),
    );
  return h("div", { class: "diff", role: "group", tabIndex: 0, "aria-label": `Changes: ${oneLine(name)}` }, drawn);
}

/** Draws the lines of a preview: those of a diff as such. */
export function previewView(preview) {
  if (!Array.isArray(preview?.lines) || !preview.lines.every((line) => typeof line === "string"))
    return jsonView(preview, "Preview");
  const marked = preview.lines.map((line) =>
    /^[+\-|]/.test(line)
      ? [line[0] === "|" ? " " : line[0], line.slice(1)]
      : /^@@/.test(line)
        ? ["@", line.replace(/^@@ ?| ?@@$/g, "")]
        : ["", line],
  );
  if (marked.some(([mark]) => mark === "+" || mark === "-")) return linesView(marked, "preview");
  return h(
    "ul",
    { class: "preview", "data-failed": preview.failed || null },
    preview.lines.map((line) => told("li", {}, line)),
  );
}

/** Draws a JSON value so that nothing in it hides. */
export const jsonView = (value, label, how = {}) =>
  longText(stringify(value, 2) ?? "undefined", { exact: true, class: "json", label, ...how });
