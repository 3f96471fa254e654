/** Draws a table that can be sorted, filtered, narrowed and copied, out of elements and text alone. */

import { h, put, say, set, told } from "./dom.js";
import { holds, kindOf, order, toCSV, toJSON, toTSV, turn } from "./table.js";
import { figure, oneLine } from "./text.js";

const PART = 200; // rows drawn at once
const CELL = 240; // characters of a cell before it is folded

/**
 * @param {string} label
 * @param {{columns: string[], rows: any[][]}} data
 * @returns {HTMLElement}
 */
export function tableView(label, { columns, rows }) {
  const kinds = columns.map((_, at) => kindOf(rows.map((row) => row[at])));
  const view = { column: null, direction: "none", filter: "", hidden: new Set(), most: PART };
  const body = h("tbody");
  const status = h("span", { class: "faint", role: "status" });
  const more = h("button", { type: "button", class: "quiet", click: () => ((view.most += 1000), draw()) });
  const heads = columns.map((name, at) =>
    h(
      "th",
      { scope: "col", "data-kind": kinds[at] },
      h(
        "button",
        { type: "button", click: () => sort(at) },
        told("span", {}, name || "(no name)"),
        h("span", { class: "arrow", "aria-hidden": "true" }),
      ),
    ),
  );
  const places = () => order(rows, view.column, view.direction).filter((place) => holds(rows[place], view.filter));
  const kept = () => columns.map((_, at) => at).filter((at) => !view.hidden.has(at));

  function sort(at) {
    view.direction = view.column === at ? turn(view.direction) : "ascending";
    view.column = view.direction === "none" ? null : at;
    draw();
  }

  function draw() {
    const found = places();
    heads.forEach((head, at) => {
      set(head, "aria-sort", view.column === at ? view.direction : "none");
      head.hidden = view.hidden.has(at);
    });
    body.replaceChildren(
      ...found.slice(0, view.most).map((place) =>
        h(
          "tr",
          {},
          kept().map((at) => cellView(rows[place][at], kinds[at])),
        ),
      ),
    );
    more.hidden = found.length <= view.most;
    put(more, `Show ${figure(Math.min(1000, found.length - view.most))} more rows`);
    put(
      status,
      `${found.length === rows.length ? "" : `${figure(found.length)} of `}${figure(rows.length)} ${rows.length === 1 ? "row" : "rows"}`,
    );
  }

  async function copy(write, name) {
    const [names, cells] = [
      kept().map((at) => columns[at]),
      places().map((place) => kept().map((at) => rows[place][at])),
    ];
    put(
      status,
      (await toClipboard(write(names, cells)))
        ? `Copied ${figure(cells.length)} rows as ${name}`
        : "The browser refused to copy",
    );
  }

  const choices = columns.map((name, at) =>
    h(
      "label",
      { class: "check" },
      h("input", {
        type: "checkbox",
        checked: true,
        change: (event) => (view.hidden[event.target.checked ? "delete" : "add"](at), draw()),
      }),
      told("span", {}, name || "(no name)"),
    ),
  );
  draw();
  return h(
    "div",
    { class: "tableview" },
    h(
      "div",
      { class: "tools" },
      h("input", {
        type: "search",
        placeholder: "Filter rows",
        "aria-label": `Filter rows of ${oneLine(label)}`,
        input: (event) => ((view.filter = event.target.value), draw()),
      }),
      columns.length > 1 &&
        h("details", { class: "menu" }, h("summary", {}, "Columns"), h("div", { class: "pop" }, choices)),
      h("span", { class: "faint" }, "Copy"),
      Object.entries({ TSV: toTSV, CSV: toCSV, JSON: toJSON }).map(([name, write]) =>
        h(
          "button",
          {
            type: "button",
            title: `Copy what is shown as ${name}`,
            "aria-label": `Copy as ${name}`,
            click: () => copy(write, name),
          },
          name,
        ),
      ),
      status,
    ),
    h(
      "div",
      { class: "scroll", tabIndex: 0, role: "group", "aria-label": oneLine(label) || "Table" },
      h("table", {}, told("caption", {}, label || "Table"), h("thead", {}, h("tr", {}, heads)), body),
    ),
    more,
  );
}

function cellView(cell, kind) {
  if (cell === null || cell === "")
    return h("td", { class: "none", "data-kind": kind }, cell === null ? "null" : "empty text");
  const text = String(cell);
  const node = h("td", { "data-kind": kind, dir: "auto" });
  if (text.length <= CELL) return say(node, text);
  const short = told("span", {}, text.slice(0, CELL));
  const rest = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false" },
    `… all ${figure(text.length)} characters`,
  );
  rest.addEventListener("click", () => (say(short, text), rest.remove()));
  node.append(short, rest);
  return node;
}

/** @param {string} text @returns {Promise<boolean>} whether the clipboard has it */
export async function toClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { value: text, class: "away" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
