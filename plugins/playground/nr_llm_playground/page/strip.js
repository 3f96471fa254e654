/** Sums a run up in one strip, and says above it whatever is out of the ordinary. */

import { h, pill, put, set, told } from "./dom.js";
import { duration, figure, oneLine } from "./text.js";
import { statusOf } from "./words.js";

/**
 * @param {HTMLElement} root
 * @param {Object<string, () => void>} acts what the buttons do, by name
 */
export function strip(root, acts) {
  const cells = {};
  const cell = (name, label) => h("div", {}, h("dt", {}, label), (cells[name] = h("dd")));
  const names = { rounds: "Rounds", calls: "Calls", tokens: "Tokens", cost: "Cost", time: "Time" };
  const status = h("div", { class: "status" });
  const about = h("p", { class: "about" });
  const buttons = Object.fromEntries(
    Object.entries({ cancel: "Cancel", replay: "Replay", goOn: "Go on", rerun: "Run again" }).map(([name, label]) => [
      name,
      h("button", { type: "button", id: `do-${name}`, click: () => acts[name]() }, label),
    ]),
  );
  const out = (form, from, label) =>
    h("button", { type: "button", "data-export": `${from}-${form}`, click: () => acts.export(form, from) }, label);
  const stored = [out("ndjson", "stored", "NDJSON, as stored"), out("json", "stored", "JSON, as stored")];
  const menu = h(
    "details",
    { class: "menu" },
    h("summary", {}, "Export"),
    h(
      "div",
      { class: "pop" },
      out("ndjson", "seen", "NDJSON, as seen here"),
      out("json", "seen", "JSON, as seen here"),
      stored,
    ),
  );
  const why = h("p", { class: "faint", id: "why-not" });
  const filter = h("input", {
    type: "search",
    id: "filter",
    placeholder: "Filter steps",
    "aria-label": "Filter steps",
    input: () => acts.filter(filter.value),
  });
  const latest = h(
    "button",
    { type: "button", class: "quiet", id: "do-follow", click: () => acts.follow() },
    "Follow the latest",
  );
  root.append(
    h(
      "div",
      { class: "sum" },
      status,
      h(
        "dl",
        {},
        Object.entries(names).map(([name, label]) => cell(name, label)),
      ),
    ),
    about,
    h("div", { class: "actions" }, filter, latest, Object.values(buttons), menu),
    why,
  );
  let last = "";

  function draw({ run, ms, limit, level, kept, replayable, whyNot, live, recorded, followed, can }) {
    const { totals } = run;
    const [word, mark] =
      recorded === "playing"
        ? ["Replaying", "off"]
        : live === "lost"
          ? ["Connection lost", "cut"]
          : live === "stopping"
            ? ["Cancelling", "run"]
            : statusOf(run.status, run.end?.reason);
    const known = `${word} ${mark}`;
    if (known !== last) status.replaceChildren(pill(word, mark));
    last = known;
    set(root, "data-status", run.status);
    put(cells.rounds, limit ? `${totals.rounds} of ${limit}` : figure(totals.rounds));
    put(cells.calls, totals.errors ? `${figure(totals.calls)}, ${totals.errors} failed` : figure(totals.calls));
    put(cells.tokens, figure(totals.total ?? (totals.input == null ? null : totals.input + (totals.output ?? 0))));
    set(
      cells.tokens,
      "title",
      totals.input == null
        ? "The service reports none"
        : `${figure(totals.input)} in, ${figure(totals.output)} out, ${figure(totals.cached)} from a cache`,
    );
    put(cells.cost, totals.cost == null ? "–" : `${totals.cost} ${totals.currency ?? ""}`.trim());
    put(cells.time, duration(ms));
    const { context } = run;
    const copy =
      recorded === "demo"
        ? "A recorded run of our own making"
        : !kept
          ? "nothing is stored"
          : `stored copy: ${level ?? "unknown"}`;
    const view =
      context?.source === "store"
        ? "as it was stored"
        : context?.filtered
          ? `this view: ${context.view_level ?? "filtered"}`
          : "live view: unfiltered";
    put(
      about,
      [
        oneLine(run.model, 60),
        run.id.slice(0, 12),
        context?.local === false
          ? `leaves this machine (${oneLine(context.host, 60)})`
          : context?.local
            ? "stays on this machine"
            : "",
        recorded ? "" : view,
        copy,
      ]
        .filter(Boolean)
        .join("  ·  "),
    );
    for (const [name, button] of Object.entries(buttons)) button.hidden = !can[name];
    buttons.replay.disabled = !replayable;
    set(buttons.replay, "aria-describedby", replayable ? null : "why-not");
    why.hidden = replayable || !can.replay;
    put(why, `No replay: ${whyNot ?? "not everything of this run is kept."}`);
    latest.hidden = followed;
    for (const button of stored) button.hidden = !kept;
  }
  return { draw, focusFilter: () => filter.focus() };
}

/** @param {string} kind @param {string} text @param {...(Node | false)} more @returns {HTMLElement} */
export const banner = (kind, text, ...more) =>
  h("div", { class: `banner ${kind}`, "data-banner": kind }, told("p", {}, text), ...more.filter(Boolean));
