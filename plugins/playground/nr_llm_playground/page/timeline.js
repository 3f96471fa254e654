/** Draws the steps of a run by round, and touches only the rows that changed: selection, scroll and focus stay. */

import { h, put, say, set, told } from "./dom.js";
import { count, duration, figure, oneLine, stringify } from "./text.js";
import { describe, sentence, statusOf } from "./words.js";

const PART = 250; // rows drawn in one frame
const GLYPHS = { request: "↑", llm: "●", tool: "◆", approval: "■", input: "■", gap: "!", end: "◎" };

/**
 * @param {HTMLElement} root
 * @param {(key: string, open: boolean) => void} select
 */
export function timeline(root, select) {
  const prompt = told("div", { class: "said", dir: "auto" }, "");
  const asked = h("div", { class: "prompt", hidden: true }, h("h3", {}, "Prompt"), prompt);
  const list = h("div", { class: "rounds" });
  root.append(asked, list);
  let [rows, rounds, run, filter, longest, marked] = [new Map(), new Map(), null, "", 1, null];

  root.addEventListener("click", (event) => {
    const row = event.target.closest(".step");
    if (row) select(row.dataset.key, true);
  });

  /** Draws what changed; returns whether there is more to draw in the next frame. */
  function draw(view) {
    const other = view.run !== run;
    if (other) drop(view.run);
    run = view.run;
    const refilter = filter !== view.filter;
    filter = view.filter;
    let [drawn, at] = [0, 0];
    const touched = new Set();
    for (const item of run.items) {
      at += 1;
      let row = rows.get(item.key);
      if (!row) {
        if (drawn >= PART) break;
        row = addRow(item);
        drawn += 1;
      }
      if (row.v !== item.v || other) {
        fill(row, item);
        touched.add(row.round);
      } else if (!refilter) continue;
      row.node.hidden = filter !== "" && !row.words.includes(filter);
    }
    touched.forEach(total);
    if (refilter)
      for (const round of rounds.values())
        round.node.hidden = filter !== "" && !round.steps.querySelector(".step:not([hidden])");
    asked.hidden = run.prompt === null;
    say(prompt, run.prompt ?? "");
    mark(view.selected);
    return at < run.items.length || (drawn >= PART && rows.size < run.items.length);
  }

  /** Forgets the rows that another run does not have. */
  function drop(next) {
    const keys = new Set(next.id === run?.id ? next.items.map((item) => item.key) : []);
    for (const [key, row] of rows) if (!keys.has(key)) (row.node.remove(), rows.delete(key));
    for (const round of rounds.values())
      round.items = next.items.filter(
        (item) => item.round === round.number && keys.has(item.key) && rows.has(item.key),
      );
    for (const [number, round] of rounds)
      if (!round.steps.childElementCount) (round.node.remove(), rounds.delete(number));
    longest = 1;
  }

  function addRow(item) {
    const parts = {
      title: h("span", { class: "title", dir: "auto" }),
      marks: h("span", { class: "marks" }),
      meta: h("span", { class: "meta" }),
      sub: h("span", { class: "sub", dir: "auto" }),
    };
    const bar = h("progress", { class: "bar", "aria-hidden": "true", max: 1, value: 0 });
    const glyph = h("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[item.kind] ?? "○");
    const node = h(
      "button",
      { type: "button", class: "step", "data-key": item.key, "data-kind": item.kind, tabIndex: rows.size ? -1 : 0 },
      glyph,
      parts.title,
      parts.marks,
      parts.meta,
      parts.sub,
      bar,
    );
    const round = roundOf(item.round);
    const row = { node, parts, bar, round, v: 0, words: "" };
    rows.set(item.key, row);
    round.steps.append(node);
    round.items.push(item);
    return row;
  }

  function roundOf(number) {
    let round = rounds.get(number);
    if (!round) {
      const facts = h("span", { class: "faint" });
      const steps = h("div", { class: "steps" });
      const node = h(
        "section",
        { class: "round", "aria-label": number ? `Round ${number}` : "Before the first round" },
        h("h3", {}, number ? `Round ${number}` : "Before", facts),
        steps,
      );
      round = { number, node, steps, facts, items: [] };
      const after = [...rounds.values()].find((other) => other.number > number);
      list.insertBefore(node, after?.node ?? null);
      rounds.set(number, round);
    }
    return round;
  }

  function fill(row, item) {
    const told = describe(item);
    say(row.parts.title, told.title);
    say(row.parts.sub, told.sub);
    put(row.parts.meta, told.meta.filter(Boolean).join("  ·  "));
    const marks = told.marks.map(([word, state]) => `${state} ${word}`).join();
    if (row.marks !== marks)
      row.parts.marks.replaceChildren(
        ...told.marks.map(([word, state]) =>
          h("span", { class: "pill", "data-state": state }, h("span", { class: "mark", "aria-hidden": "true" }), word),
        ),
      );
    row.marks = marks;
    set(row.node, "data-state", item.state);
    const took = item.kind === "llm" || item.kind === "tool" ? (item.step?.duration_ms ?? 0) : 0;
    const known = Number.isFinite(took) ? took : 0;
    if (known > longest) {
      longest = known;
      for (const other of rows.values()) other.bar.max = longest;
    }
    [row.bar.max, row.bar.value] = [longest, known];
    row.words =
      `${told.title} ${told.sub} ${marks} ${item.kind} ${oneLine(item.step?.tool_result ?? "", 2000)}`.toLowerCase();
    row.v = item.v;
  }

  function total(round) {
    const calls = round.items.filter((item) => item.kind === "tool").length;
    const ms = round.items.reduce((sum, item) => sum + (item.step?.duration_ms ?? 0), 0);
    put(round.facts, [calls && count(calls, "call"), ms >= 1 && duration(ms)].filter(Boolean).join(", "));
  }

  function mark(key) {
    const node = rows.get(key)?.node;
    if (node === marked) return;
    if (marked) (set(marked, "aria-current", null), (marked.tabIndex = -1));
    if (node) (set(node, "aria-current", "true"), (node.tabIndex = 0));
    marked = node;
  }

  const shown = () => [...root.querySelectorAll(".step:not([hidden])")];

  /** Selects another row: by a number of rows, or of rounds. */
  function move(key, by, { rounds: whole = false } = {}) {
    const nodes = shown();
    if (!nodes.length) return;
    const at = nodes.findIndex((node) => node.dataset.key === key);
    let to = at < 0 ? (by > 0 ? 0 : nodes.length - 1) : Math.min(nodes.length - 1, Math.max(0, at + by));
    if (whole && at >= 0) {
      const heads = nodes.filter((node) => node === node.parentElement.querySelector(".step:not([hidden])"));
      const inside = heads.findLastIndex((head) => nodes.indexOf(head) <= at);
      to = nodes.indexOf(heads[Math.min(heads.length - 1, Math.max(0, inside + by))]);
    }
    const node = nodes[to];
    if (root.contains(document.activeElement)) node.focus({ preventScroll: true });
    node.scrollIntoView({ block: "nearest" });
    select(node.dataset.key, false);
  }

  return { draw, move, has: (key) => rows.has(key) };
}

/** Draws how a run ended: what happened in a sentence, then the answer. */
export function endView(run) {
  const { end } = run;
  if (!end || run.pending.length) return null;
  const [word, mark] = statusOf(end.event, end.reason);
  const text = end.error ? (end.error.message ?? "Its text is not shown in this view.") : "";
  const content =
    end.content ?? (end.content_length ? `${figure(end.content_length)} characters, not kept in this view` : "");
  const more = Object.fromEntries(
    Object.entries(end.error ?? {}).filter(([name]) => name !== "class" && name !== "message"),
  );
  return h(
    "section",
    { class: "end", "data-state": mark, "aria-label": "How it ended" },
    h("h3", {}, mark === "ok" ? "Answer" : word),
    sentence(end) && h("p", { class: "why" }, sentence(end)),
    end.error && h("p", { class: "why" }, told("strong", {}, end.error.class), ": ", told("span", {}, text)),
    Object.keys(more).length > 0 && told("p", { class: "faint" }, stringify(more)),
    content
      ? told("div", { class: "said answer", "data-testid": "answer" }, content)
      : mark === "ok" && h("p", { class: "faint" }, "The answer is empty."),
  );
}
