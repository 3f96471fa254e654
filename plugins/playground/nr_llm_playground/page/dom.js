/** Makes elements, and nothing but elements and text: no text of a run can ever become markup. */

import { pieces, asText } from "./text.js";

const PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "open", "hidden", "tabIndex", "selected"]);

/**
 * Makes an element.
 * @param {string} tag
 * @param {Object<string, unknown>} [props] attributes; functions listen to the event they are named after
 * @param {...(Node | string | null | Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  node.append(...children.flat(9).filter((child) => child != null && child !== false));
  return node;
}

/** Sets one attribute, property or listener; a style or a handler as text is refused, as the page's policy would. */
export function set(node, name, value) {
  if (typeof value === "function") node.addEventListener(name, value);
  else if (/^(style|on)/.test(name)) throw new TypeError(`${name} is never set`);
  else if (name === "class") node.className = value ?? "";
  else if (PROPERTIES.has(name)) node[name] = value;
  else if (value == null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== (value === true ? "" : String(value)))
    node.setAttribute(name, value === true ? "" : value);
}

const shown = new WeakMap();

/**
 * Shows a text in an element, with escapes for what cannot be seen; the same text twice touches nothing, and a text
 * that only grew is appended, so that what somebody has selected stays selected.
 * @param {HTMLElement} node
 * @param {string} given
 * @param {{exact?: boolean}} [how]
 */
export function say(node, given, how) {
  const text = asText(given);
  const before = shown.get(node);
  if (before === text) return node;
  const grew = before && text.length > before.length && text.startsWith(before) && !before.endsWith("\r");
  if (!grew) node.textContent = "";
  for (const piece of pieces(grew ? text.slice(before.length) : text, how)) {
    node.append(piece.code ? h("span", { class: "esc" }, piece.code) : piece);
  }
  shown.set(node, text);
  return node;
}

/** Makes an element that shows a text of a run. */
export const told = (tag, props, text, how) => say(h(tag, { dir: "auto", ...props }), text, how);

/** Sets plain text of our own, if it is another one. */
export function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const LONG = 20000;

/**
 * Shows a text of any length: a long one in part, with a button for the next part, so that no reply freezes the page.
 * @param {string} given
 * @param {{exact?: boolean, class?: string, label?: string}} [how]
 */
export function longText(given, { exact, class: kind = "", label } = {}) {
  const text = asText(given);
  const body = h("pre", {
    class: `text ${kind}`,
    dir: "auto",
    tabIndex: 0,
    role: "group",
    "aria-label": label ?? "Text",
  });
  const more = h("button", { type: "button", class: "quiet", click: () => next() });
  let to = 0;
  const next = () => {
    to += to ? LONG * 5 : LONG;
    say(body, text.slice(0, to), { exact });
    more.hidden = to >= text.length;
    put(more, `Show more (${(text.length - to).toLocaleString("en")} characters left)`);
  };
  next();
  return h("div", { class: "long" }, body, more);
}

/** @param {string} word @param {string} state one of ok, wait, bad, run, off, cut @returns {HTMLElement} a word with a mark of its own */
export const pill = (word, state) =>
  h("span", { class: "pill", "data-state": state }, h("span", { class: "mark", "aria-hidden": "true" }), word);
