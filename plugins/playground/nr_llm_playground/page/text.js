/** Makes what models and tools wrote safe to read: whatever cannot be seen is shown as an escape, and no number is rounded. */

// Controls (but tab and newline), bidi controls, zero-width characters, blanks without width, tags, lone surrogates.
const UNSEEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;
// Where a person approves, nothing passes for a plain space either.
const EXACT =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e0fff}]/gu;

/**
 * Cuts a text into what can be shown and escapes of what cannot be seen.
 * @param {string} text
 * @param {{exact?: boolean}} [how] exact: escape blanks other than the space, too
 * @returns {Array<string | {code: string}>}
 */
export function pieces(text, { exact = false } = {}) {
  const source = exact ? text : text.replaceAll("\r\n", "\n");
  const found = [];
  let from = 0;
  for (const match of source.matchAll(exact ? EXACT : UNSEEN)) {
    if (match.index > from) found.push(source.slice(from, match.index));
    found.push({ code: codeOf(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < source.length) found.push(source.slice(from));
  return found;
}

/** @param {string} character @returns {string} such as U+202E */
const codeOf = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** @param {string} text @returns {string} the text with escapes in place of what cannot be seen */
export const visible = (text) =>
  pieces(text)
    .map((piece) => piece.code ?? piece)
    .join("");

/** @param {unknown} value @param {number} most @returns {string} one line of at most so many characters */
export function oneLine(value, most = 160) {
  const text = String(value ?? "").slice(0, most * 2 + 1);
  const line = visible(text).replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/**
 * Reads JSON without rounding a whole number that is longer than a double holds: such a one becomes a BigInt.
 * @param {string} text
 */
export const parse = (text) => (/\d{16}/.test(text) ? JSON.parse(text, exactly) : JSON.parse(text));

const exactly = (key, value, context) =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
    ? BigInt(context.source)
    : value;

/** @param {unknown} value @param {number} [indent] @returns {string} JSON that `parse` reads back as it was */
export const stringify = (value, indent) =>
  JSON.stringify(value, (key, item) => (typeof item === "bigint" ? whole(item) : item), indent);

const whole = (number) => (JSON.rawJSON ? JSON.rawJSON(String(number)) : String(number));

/** @param {unknown} value @returns {string} itself, or what stands for a value where a text should be */
export const asText = (value) =>
  typeof value === "string" ? value : value == null ? "" : typeof value === "object" ? stringify(value) : String(value);

/** @param {number} number @param {string} word */
export const count = (number, word) => `${figure(number)} ${word}${number === 1 ? "" : "s"}`;

/** @param {number | bigint | null | undefined} number @returns {string} with separators, or a dash for what is not known */
export const figure = (number) => (number == null ? "–" : number.toLocaleString("en"));

/** @param {number} ms @returns {string} */
export function duration(ms) {
  if (ms == null) return "–";
  if (ms < 1) return "< 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

/** @param {number} bytes @returns {string} */
export const size = (bytes) =>
  bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

/** @param {string} text @returns {number} its bytes as UTF-8 */
export const bytesOf = (text) => new TextEncoder().encode(text).length;

/** @param {number | null} seconds since 1970 @returns {string} local time, the day only when it is not today */
export function moment(seconds) {
  if (seconds == null) return "–";
  const at = new Date(seconds * 1000);
  const time = at.toLocaleTimeString("en-GB");
  return at.toDateString() === new Date().toDateString() ? time : `${at.toLocaleDateString("en-CA")} ${time}`;
}
