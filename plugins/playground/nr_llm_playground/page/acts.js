/** Does what people ask for: begins runs, opens and replays them, decides, cancels, exports. */

import { ApiError, ask, get, runPath } from "./api.js";
import { h } from "./dom.js";
import { begin, fold } from "./fold.js";
import { $, parts, ready, show, state } from "./state.js";
import { follow, linesOf } from "./stream.js";
import { parse } from "./text.js";

const KEPT = 20000; // lines kept to replay and export; beyond it the pieces of replies that are whole go first

let stop = new AbortController();

/** Begins to look at another run, and lets go of the one before. */
function turnTo(id, changes = {}) {
  stop.abort();
  stop = new AbortController();
  parts.player.pause();
  Object.assign(state, {
    run: begin(id),
    raw: [],
    link: { state: "none" },
    info: null,
    problem: null,
    replaying: false,
    demo: false,
    loading: false,
    body: null,
    ...changes,
  });
  parts.list.mark(id);
}

export function leave() {
  turnTo("");
  state.run = null;
  document.title = "nr-llm playground";
  show({ run: null, demo: null, ev: null, tab: null, pos: null }, { replace: false });
  parts.form.open(true);
}

function take(raw, line) {
  if (line.event === "heartbeat") return;
  state.heard = performance.now();
  state.raw.push(raw);
  if (state.raw.length > KEPT) state.raw = thinner(state.raw);
  if (line.event === "context" && line.source === "store" && state.run.context)
    Object.assign(state, { run: begin(), raw: [raw] });
  const fresh = !state.run.id;
  fold(state.run, line);
  if (fresh && state.run.id) {
    show({ run: state.run.id }, { replace: false });
    parts.list.mark(state.run.id);
    parts.list.load();
  }
  ready();
}

/** Leaves out the pieces of replies whose step is there; if that is not enough, the oldest half of the lines. */
function thinner(lines) {
  const piece = /^\{"event":"(text|reasoning|tool_call|progress)"/;
  const last = lines.findLastIndex((raw) => !piece.test(raw));
  const kept = lines.filter((raw, at) => at > last || !piece.test(raw));
  return kept.length < KEPT ? kept : kept.slice(kept.length >> 1);
}

/** Says for a while that a lost connection is back. */
function back() {
  state.back = true;
  setTimeout(() => ((state.back = false), ready()), 6000);
}

async function listen(open) {
  const { signal } = stop;
  state.link = { state: "live" };
  ready();
  const link = (now) => !signal.aborted && ((state.link = now), ready(), now.regained && back());
  try {
    await follow(open, { line: (raw, line) => !signal.aborted && take(raw, line), link, at: () => state.run, signal });
  } finally {
    if (!signal.aborted) {
      if (state.link.state !== "gone") state.link = { state: "over" };
      ready();
      parts.list.load();
      askAgain(state.run);
    }
  }
}

/** Asks for the calls a run waits with, where a filtered view leaves out what decides about them. */
async function askAgain(run) {
  if (!run?.pending.some((call) => !call.digest)) return;
  const info = await get(runPath(run.id)).catch(() => null);
  if (info?.pending?.length) run.pending = info.pending;
  ready();
}

export async function start(body) {
  turnTo("", { body });
  parts.form.open(false, body);
  const { run, demo, ev, tab, pos, ...kept } = state.at;
  state.at = kept; // the address stays that of the run before, which Back leads to, until there is a new one
  $("main").scrollIntoView({ block: "start" });
  try {
    await listen(() => ask("api/runs", { body, signal: stop.signal }));
  } catch (error) {
    failed(error);
  }
}

export function failed(error) {
  if (error.name === "AbortError") return;
  if (!state.run?.context) state.run = null;
  if (!state.run && state.body) parts.form.open(true);
  state.problem =
    error instanceof ApiError ? error : new ApiError(-1, { error: { message: `This page failed: ${error.message}` } });
  ready();
}

/** Refusals of a decision that say that the run is not any more as it is shown. */
const PAST = new Set(["stale", "claimed", "not_waiting"]);

/** Sends what a person decided; resolves to what was wrong with it, or goes on with the run. */
export async function decide(what, body) {
  const { run } = state;
  try {
    const response = await ask(runPath(run.id, `/${what}`), { body, signal: stop.signal });
    state.info = null;
    listen(() => Promise.resolve(response)).catch(failed);
    return "";
  } catch (error) {
    if (PAST.has(error.code)) openRun(run.id, { problem: error }); // somebody else was faster
    const faults = error.body?.faults;
    return faults ? `That does not fit, and the run waits on:\n${faults}` : error.message;
  }
}

export async function cancel() {
  const { run } = state;
  if (!run?.id || !["live", "lost"].includes(state.link.state)) return;
  state.link = { state: "stopping" };
  ready();
  await ask(runPath(run.id, "/cancel"), { body: {} }).catch(
    (error) => ((state.problem = error), (state.link = { state: "live" }), ready()),
  );
}

/** Opens a run of the store, or one that still goes on; what is already here stays until the new one is. */
export async function openRun(id, { replace = true, problem = null } = {}) {
  const same = state.run?.id === id;
  if (!same) show({ run: id, demo: null }, { replace });
  turnTo(id, { loading: true, problem, body: same ? state.body : null });
  if (!same) state.run = null;
  ready();
  const { signal } = stop;
  try {
    const info = await get(runPath(id), { signal });
    if (signal.aborted) return;
    Object.assign(state, { info, loading: false, run: begin(id) });
    await readAll(id, info, signal);
    if (signal.aborted) return;
    if (state.at.pos) enterReplay(Number(state.at.pos));
  } catch (error) {
    state.loading = false;
    failed(error);
  }
}

/** Reads a run segment by segment, as it was watched; where one is no longer there the store tells the whole of it. */
async function readAll(id, info, signal) {
  for (let segment = 0; !signal.aborted; segment += 1) {
    await listen(() => ask(runPath(id, `/events?segment=${segment}`), { signal }));
    const { run } = state;
    if (run.elsewhere && info.live) {
      Object.assign(state, { run: begin(id), raw: [] });
      return listen(() => ask(runPath(id, "/events"), { signal }));
    }
    if (!run.pending.length || run.context?.source === "store" || stillWaits(run, info)) return;
  }
}

/** Says whether a run waits now with the very calls that a segment ended with. */
function stillWaits(run, info) {
  const digests = run.pending.map((call) => call.digest).filter(Boolean);
  if (!digests.length) return info.run.status.startsWith("waiting");
  return digests.some((digest) => info.pending?.some((call) => call.digest === digest));
}

export async function openDemo({ go = false } = {}) {
  show({ demo: "1", run: null, ev: go ? null : state.at.ev }, { replace: !go });
  turnTo("demo", { loading: true });
  state.run = null;
  ready();
  const { signal } = stop;
  try {
    const response = await ask("api/demo", { signal });
    if (signal.aborted) return;
    Object.assign(state, { loading: false, demo: true, run: begin() });
    for await (const { raw, line } of linesOf(response, { signal })) (state.raw.push(raw), fold(state.run, line));
    if (signal.aborted) return;
    enterReplay(go ? 0 : state.at.pos ? Number(state.at.pos) : undefined);
    if (go) parts.player.start();
  } catch (error) {
    state.loading = false;
    failed(error);
  }
}

export function enterReplay(at) {
  state.replaying = true;
  parts.player.load(state.raw.map(parse), at);
  ready();
}

export function leaveReplay() {
  parts.player.pause();
  state.replaying = false;
  show({ pos: null });
}

export async function save(form, from) {
  const { id } = state.run;
  let text = form === "json" ? `[\n${state.raw.join(",\n")}\n]\n` : `${state.raw.join("\n")}\n`;
  try {
    if (from === "stored") text = await (await ask(runPath(id, `/export?form=${form}`))).text();
  } catch (error) {
    return failed(error);
  }
  const address = URL.createObjectURL(
    new Blob([text], { type: form === "json" ? "application/json" : "application/x-ndjson" }),
  );
  const link = h("a", { href: address, download: `${id.slice(0, 12) || "run"}-${from}.${form}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
