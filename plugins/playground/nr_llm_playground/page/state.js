/** Holds what the page looks at in one place; whoever changes it asks for a frame, and the page is drawn from it. */

import * as route from "./route.js";

export const $ = (id) => document.getElementById(id);

/**
 * What is looked at: `at` as the address has it, `run` folded from the lines `raw`, `link` to the server, `info` of a
 * stored run, `body` that was asked for, and `problem`, the last thing that went wrong; `heard` is when the last line came, in ms.
 */
export const state = {
  at: route.read(location.hash),
  context: null,
  run: null,
  raw: [],
  link: { state: "none" },
  info: null,
  body: null,
  problem: null,
  filter: "",
  replaying: false,
  demo: false,
  loading: false,
  back: false,
  heard: 0,
};

/** The parts of the page that keep something of their own; `main.js` puts them here. */
export const parts = {};

let frame = 0;

/** Has the page drawn in the next frame, once however often it is asked for. */
export const ready = () => (frame ||= ask());

/** A page that nobody sees gets no frames, and its title still says what a run waits for. */
const ask = () => (document.hidden ? -setTimeout(drawn, 250) : requestAnimationFrame(drawn));

function drawn() {
  frame = 0;
  parts.draw();
}

document.addEventListener("visibilitychange", () => {
  if (!frame) return;
  if (frame > 0) cancelAnimationFrame(frame);
  else clearTimeout(-frame);
  frame = ask();
});

/** Returns the run that is shown: the one that is watched, or a replayed one. */
export const shown = () => (state.replaying ? parts.player.run() : state.run);

/** Looks at something else: what changes goes into the address, and the page is drawn anew. */
export function show(changes, how) {
  state.at = Object.fromEntries(Object.entries({ ...state.at, ...changes }).filter(([, value]) => value));
  route.show(state.at, how);
  ready();
}
