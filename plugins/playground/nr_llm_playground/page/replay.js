/** Plays recorded lines again, at their own pace or step by step; nobody is asked anything. */

import { h, put } from "./dom.js";
import { begin, fold } from "./fold.js";
import { duration } from "./text.js";

const MOST = 1500; // ms that a pause lasts at most

/** @param {any[]} lines @returns {number[]} when each line is shown, in ms */
export function times(lines) {
  let [at, before] = [0, 0];
  return lines.map((line) => {
    const took = line.t != null ? line.t - before : line.event === "step" ? (line.step?.duration_ms ?? 0) : 20;
    if (line.t != null) before = line.t;
    return (at += Math.min(MOST, Math.max(0, took)));
  });
}

/**
 * @param {HTMLElement} root
 * @param {() => void} changed
 * @param {() => void} close
 */
export function replay(root, changed, close) {
  let [lines, at, run, clock, pos, timer] = [[], [], null, 0, 0, 0];
  const speed = h(
    "select",
    { "aria-label": "Speed" },
    [1, 4, 16].map((times) => h("option", { value: times }, `${times}×`)),
  );
  const bar = h("input", {
    type: "range",
    min: 0,
    value: 0,
    "aria-label": "Position",
    input: () => (pause(), seek(Number(bar.value))),
  });
  const play = h("button", { type: "button", click: () => (timer ? pause() : start()) }, "Play");
  const where = h("span", { class: "faint" });
  const step = (by, label, text) =>
    h("button", { type: "button", "aria-label": label, click: () => (pause(), seek(pos + by)) }, text);
  root.append(
    play,
    step(-1, "One event back", "‹"),
    step(1, "One event on", "›"),
    bar,
    speed,
    where,
    h("button", { type: "button", class: "quiet", click: () => close() }, "Close"),
  );

  function load(given, to) {
    pause();
    lines = given;
    at = times(lines);
    bar.max = lines.length;
    run = null;
    seek(to ?? lines.length);
  }

  /** Shows the run as it was after so many lines: onwards by folding in, backwards by folding anew. */
  function seek(to) {
    const target = Math.min(lines.length, Math.max(0, to));
    if (!run || target < pos) [run, pos] = [begin(lines[0]?.run_id), 0];
    while (pos < target) fold(run, lines[pos++]);
    bar.value = pos;
    const text = `Event ${pos} of ${lines.length}, ${duration(at[pos - 1] ?? 0)}`;
    put(where, text);
    bar.setAttribute("aria-valuetext", text);
    changed();
  }

  function start() {
    if (pos >= lines.length) seek(0);
    put(play, "Pause");
    clock = performance.now() - (at[pos - 1] ?? 0) / Number(speed.value);
    timer = requestAnimationFrame(tick);
  }

  function tick() {
    let to = pos;
    const now = (performance.now() - clock) * Number(speed.value);
    while (to < lines.length && at[to] <= now) to += 1;
    if (to > pos) seek(to);
    timer = pos < lines.length ? requestAnimationFrame(tick) : 0;
    if (!timer) put(play, "Play");
  }

  function pause() {
    cancelAnimationFrame(timer);
    timer = 0;
    put(play, "Play");
  }

  speed.addEventListener("change", () => timer && (pause(), start()));
  return { load, start, pause, run: () => run, pos: () => pos, all: () => lines.length };
}
