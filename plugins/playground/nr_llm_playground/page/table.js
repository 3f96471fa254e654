/** Sorts, filters and writes out tables without a screen, so that each of these can be tested by itself. */

import { stringify, visible } from "./text.js";

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;
const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const exactly = new Intl.Collator("en", { numeric: true });

/**
 * Returns a table's data if it has the shape of one, else null: a store may hold anything.
 * @param {any} data
 * @returns {{columns: string[], rows: any[][]} | null}
 */
export function shape(data) {
  const { columns, rows } = data ?? {};
  const cell = (value) => value === null || ["string", "number", "boolean", "bigint"].includes(typeof value);
  const good =
    Array.isArray(columns) &&
    Array.isArray(rows) &&
    columns.every((name) => typeof name === "string") &&
    rows.every((row) => Array.isArray(row) && row.length === columns.length && row.every(cell));
  return good ? { columns, rows } : null;
}

/** @param {any[]} cells @returns {"number" | "date" | "boolean" | "text"} what a column holds, empty cells aside */
export function kindOf(cells) {
  const told = cells.filter((cell) => cell !== null && cell !== "");
  if (!told.length) return "text";
  if (told.every((cell) => ["number", "bigint"].includes(typeof cell) || NUMBER.test(cell))) return "number";
  if (told.every((cell) => typeof cell === "boolean")) return "boolean";
  return told.every((cell) => DATE.test(cell) && !Number.isNaN(Date.parse(cell))) ? "date" : "text";
}

/** Returns a typed copy of a cell to compare by. */
function key(cell, kind) {
  if (kind === "number") return typeof cell === "string" ? numberOf(cell) : cell;
  return kind === "date" ? Date.parse(cell) : kind === "boolean" ? Number(cell) : String(cell);
}

const numberOf = (text) => (/^[+-]?\d{16,}$/.test(text) ? BigInt(text.replace("+", "")) : Number(text));

/**
 * Returns the rows' places in sorted order: stable, and what is empty comes last in both directions.
 * @param {any[][]} rows
 * @param {number | null} column
 * @param {"ascending" | "descending" | "none"} direction
 * @returns {number[]}
 */
export function order(rows, column, direction) {
  const places = rows.map((_, place) => place);
  if (column === null || direction === "none") return places;
  const kind = kindOf(rows.map((row) => row[column]));
  const rank = (cell) => (cell === null ? 2 : cell === "" && kind !== "text" ? 1 : 0);
  const keys = rows.map((row) => (rank(row[column]) ? null : key(row[column], kind)));
  const sign = direction === "descending" ? -1 : 1;
  const compare =
    kind === "text" ? (a, b) => words.compare(a, b) || exactly.compare(a, b) : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return places.sort(
    (a, b) =>
      rank(rows[a][column]) - rank(rows[b][column]) || (keys[a] === null ? 0 : sign * compare(keys[a], keys[b])),
  );
}

/** @param {string} direction @returns {"ascending" | "descending" | "none"} the next of three states */
export const turn = (direction) => ({ none: "ascending", ascending: "descending" })[direction] ?? "none";

/** @param {any[]} row @param {string} wanted @returns {boolean} whether a cell holds the text, as it is shown */
export function holds(row, wanted) {
  const text = wanted.toLowerCase();
  return (
    !text ||
    row.some((cell) =>
      visible(cell === null ? "null" : String(cell))
        .toLowerCase()
        .includes(text),
    )
  );
}

/** Returns a cell for a spreadsheet: a text that it would take for a formula gets an apostrophe in front. */
export const guard = (cell) =>
  cell === null ? "" : typeof cell === "string" && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);

const quoted = (cell, special) => (special.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** @param {string[]} columns @param {any[][]} rows */
export const toTSV = (columns, rows) =>
  [columns, ...rows].map((row) => row.map((cell) => quoted(guard(cell), /[\t\n\r"]/)).join("\t")).join("\n");

/** @param {string[]} columns @param {any[][]} rows */
export const toCSV = (columns, rows) =>
  [columns, ...rows].map((row) => row.map((cell) => quoted(guard(cell), /[,\n\r"]/)).join(",")).join("\r\n");

/** Returns the table as JSON, cells as they are; names may repeat, so rows stay lists. */
export const toJSON = (columns, rows) => stringify({ columns, rows }, 1);
