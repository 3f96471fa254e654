/** Joins the parts: lines come in, are folded into a run, and one frame later the page shows it. */

import { ApiError, ask, get, runPath } from "./api.js";
import { askForm } from "./ask.js";
import { decideView } from "./decide.js";
import { detail } from "./detail.js";
import { h, pill, put, set, told } from "./dom.js";
import { begin, fold, isLast } from "./fold.js";
import { keys } from "./keys.js";
import { past } from "./past.js";
import { replay } from "./replay.js";
import * as route from "./route.js";
import { follow, linesOf } from "./stream.js";
import { banner, strip } from "./strip.js";
import { count, parse, stringify } from "./text.js";
import { endView, timeline } from "./timeline.js";
import { statusOf } from "./words.js";

const $ = (id) => document.getElementById(id);
const KEPT = 20000; // lines kept to replay and export; beyond it the pieces of replies that are whole go first

const state = { context: null, problem: null, at: route.read(location.hash), run: null, raw: [], link: { state: "none" }, info: null, body: null, selected: null, filter: "", replaying: false, demo: false, pending: null, loading: false };
let stop = new AbortController();
let frame = 0;

const ready = () => (frame ||= requestAnimationFrame(drawn));
const shown = () => (state.replaying ? player.run() : state.run);

// -- what is drawn ------------------------------------------------------------------------------------------------

const steps = timeline($("steps"), (key, open) => select(key, open));
const details = detail($("detail"), (tab) => show({ tab }));
const player = replay($("scrub"), () => state.replaying && (show({ pos: player.pos() < player.all() ? player.pos() : null }), ready()), () => leaveReplay());
const summary = strip($("strip"), { cancel, replay: () => enterReplay(), rerun: () => state.body && start(state.body), goOn: () => form.goOn(state.run.id), export: save, filter: (text) => ((state.filter = text.toLowerCase()), ready()), follow: () => (show({ ev: null }), ready()) });
const form = askForm((body) => start(body));
const list = past((filters) => show(filters));

/** Draws, and says so if that failed: what a run holds must never leave the page standing still. */
function drawn() {
  frame = 0;
  try {
    draw();
  } catch (error) {
    console.error(error);
    if (!state.problem) failed(error);
  }
}

function draw() {
  const run = shown();
  $("welcome").hidden = Boolean(run) || state.loading;
  for (const id of ["strip", "timeline"]) $(id).hidden = !run;
  $("scrub").hidden = !state.replaying;
  drawBanners(run);
  if (!run) return void ($("tail").replaceChildren(), details.draw(null));
  const item = selectedOf(run);
  const main = $("main");
  const low = !state.at.ev && main.scrollHeight - main.scrollTop - main.clientHeight < 120;
  const more = steps.draw({ run, selected: item?.key, filter: state.filter });
  details.draw(item, state.at.tab, run);
  drawStrip(run);
  drawTail(run);
  if (low) main.scrollTop = main.scrollHeight;
  announce(run);
  if (more) ready();
}

/** Returns the step to show: the chosen one, else the newest that tells something. */
function selectedOf(run) {
  const chosen = state.at.ev && run.items.find((item) => item.key === state.at.ev);
  if (chosen) return chosen;
  const over = run.end && run.items.findLast((item) => item.step?.tool_artifacts?.length);
  return over || run.items.findLast((item) => item.kind !== "end" && item.kind !== "gap" && (item.step || item.text || item.kind === "tool")) || run.items.at(-1);
}

function drawStrip(run) {
  const live = state.link.state;
  const running = !state.replaying && ["live", "lost", "stopping"].includes(live);
  const whole = state.demo || !state.info || state.info.replayable;
  const store = state.context?.store ?? {};
  summary.draw({
    run, live: state.replaying ? "" : live,
    limit: run.context?.rounds_limit,
    level: run.context?.level ?? state.info?.level ?? store.level, kept: !state.demo && (state.info ? true : store.kept),
    replayable: whole && !running && state.raw.length > 1, whyNot: state.info?.why_not,
    recorded: state.demo ? "demo" : state.replaying && player.pos() < player.all() ? "playing" : "",
    followed: !state.at.ev,
    can: { cancel: running, replay: !running && !state.replaying, goOn: !running && run.status === "done" && !state.demo, rerun: !running && Boolean(state.body) },
  });
}

let tail = "";
function drawTail(run) {
  const known = `${run.id} ${run.segment} ${run.next} ${run.status} ${state.replaying}`;
  const waits = run.pending.length > 0 && !state.replaying;
  const now = waits ? `${run.id} ${run.segment} ${stringify(run.pending)}` : run.end ? known : "";
  if (now === tail) return;
  tail = now;
  const tools = new Map((state.context?.tool_groups ?? []).flatMap((group) => group.tools.map((tool) => [tool.name, tool])));
  $("tail").replaceChildren(...[waits ? decideView(run.pending, tools, decide) : run.pending.length ? banner("wait", "Here the run waited for a person.") : endView(run)].filter(Boolean));
}

let heard = { run: null, told: 0 };
function announce(run) {
  if (heard.run !== run) heard = { run, told: state.replaying || state.info ? run.told : 0, status: "" };
  const news = run.news.slice(Math.max(0, run.news.length - (run.told - heard.told)));
  const [word] = statusOf(run.status, run.end?.reason);
  if (word !== heard.status && !state.replaying) news.push(word);
  Object.assign(heard, { told: run.told, status: word });
  document.title = `${word} – nr-llm playground`;
  if (news.length) $("log").replaceChildren(...[...$("log").children].slice(-8), ...news.map((text) => told("p", {}, text)));
}

let bannered = "";
function drawBanners(run) {
  const { problem, link, demo, back } = state;
  const known = stringify([problem && [problem.message, problem.id], link, demo && run?.context?.label, back, run?.elsewhere, state.loading]);
  if (known === bannered) return;
  bannered = known;
  const found = [];
  if (problem) found.push(banner("bad", problem.status === 401 ? "This page has no session. Open the address that nr-llm playground printed." : problem.message, problem.id && told("p", { class: "faint" }, `Error ${problem.id}`)));
  if (link.state === "lost") found.push(banner("wait", `The connection is lost. Trying again (${link.tries}) …`));
  if (link.state === "gone") found.push(banner("bad", "The connection could not be had again. The run may go on without you.", h("button", { type: "button", click: () => openRun(state.run.id) }, "Try again")));
  if (back) found.push(banner("ok", "The connection is back; nothing was missed unless a gap is shown."));
  if (demo) found.push(banner("demo", run?.context?.label ?? "This is a recorded run: no model is asked.", h("button", { type: "button", click: () => leave() }, "Leave it")));
  if (run?.elsewhere) found.push(banner("wait", "This run goes on elsewhere, in another process.", h("button", { type: "button", click: () => openRun(run.id) }, "Look again")));
  if (state.loading) found.push(banner("wait", "Loading …"));
  $("banners").replaceChildren(...found);
}

function drawWelcome() {
  const { advice = [], plugins = [], models = [], demo, tool_groups: groups = [] } = state.context;
  const tools = groups.reduce((sum, group) => sum + group.tools.length, 0);
  const bad = plugins.filter((plugin) => plugin.state !== "active");
  const local = models.find((model) => model.local);
  $("welcome").replaceChildren(
    ...[
      h("h2", {}, "A glass box for runs"),
      h("p", {}, "Ask a model something, and see all that passes between it and your tools: each request, each reply, each call, and what only you get to see."),
      h("ul", { class: "names" }, h("li", {}, models.length ? `${models.length === 1 ? "One model" : `${models.length} models`}${local ? `; ${local.name} stays on this machine` : ""}` : "No model is set up yet: no key, no local weights."), h("li", {}, tools ? `${count(tools, "tool")} at hand` : "No plugin offers a tool.")),
      advice.map((one) => h("div", { class: "note", "data-advice": one.code }, told("p", {}, one.text), one.command && told("code", {}, one.command))),
      bad.length > 0 && h("details", { class: "plugins" }, h("summary", {}, `${bad.length === 1 ? "One plugin is" : `${bad.length} plugins are`} not active`), h("ul", { class: "names" }, bad.map((one) => h("li", {}, told("strong", {}, one.name), " ", pill(one.state, "bad"), told("span", { class: "faint" }, ` ${one.reason ?? ""}`))))),
      demo && h("p", {}, h("button", { type: "button", class: "main", id: "demo", click: () => openDemo({ go: true }) }, "Watch a recorded run"), h("span", { class: "faint" }, " needs no model and no key")),
    ].flat().filter(Boolean),
  );
}

// -- what happens -------------------------------------------------------------------------------------------------

function show(changes, how) {
  state.at = Object.fromEntries(Object.entries({ ...state.at, ...changes }).filter(([, value]) => value));
  route.show(state.at, how);
  ready();
}

function select(key, open) {
  show({ ev: key });
  if (open && getComputedStyle($("detail")).position === "static") $("detail").scrollIntoView({ block: "start" });
}

/** Begins to look at another run, and lets go of the one before. */
function turnTo(id, changes = {}) {
  stop.abort();
  stop = new AbortController();
  player.pause();
  Object.assign(state, { run: begin(id), raw: [], link: { state: "none" }, info: null, problem: null, replaying: false, demo: false, loading: false, body: null, ...changes });
  list.mark(id);
}

function leave() {
  turnTo("");
  state.run = null;
  document.title = "nr-llm playground";
  show({ run: null, demo: null, ev: null, tab: null, pos: null }, { replace: false });
  form.open(true);
}

function take(raw, line) {
  if (line.event === "heartbeat") return;
  state.raw.push(raw);
  if (state.raw.length > KEPT) state.raw = thinner(state.raw);
  if (line.event === "context" && line.source === "store" && state.run.context) Object.assign(state, { run: begin(), raw: [raw] });
  const fresh = !state.run.id;
  fold(state.run, line);
  if (fresh && state.run.id) {
    show({ run: state.run.id }, { replace: false });
    list.mark(state.run.id);
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
      list.load();
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

async function start(body) {
  turnTo("", { body });
  form.open(false, body);
  show({ run: null, demo: null, ev: null, tab: null, pos: null });
  $("main").scrollIntoView({ block: "start" });
  try {
    await listen(() => ask("api/runs", { body, signal: stop.signal }));
  } catch (error) {
    failed(error);
  }
}

function failed(error) {
  if (error.name === "AbortError") return;
  if (!state.run?.context) state.run = null;
  if (!state.run && state.body) form.open(true);
  state.problem = error instanceof ApiError ? error : new ApiError(-1, { error: { message: `This page failed: ${error.message}` } });
  ready();
}

/** Sends what a person decided; resolves to what was wrong with it, or goes on with the run. */
async function decide(what, body) {
  const { run } = state;
  try {
    const response = await ask(runPath(run.id, `/${what}`), { body, signal: stop.signal });
    state.info = null;
    listen(() => Promise.resolve(response)).catch(failed);
    return "";
  } catch (error) {
    if (error.status === 409) openRun(run.id);
    return [error.message, error.body?.faults].filter(Boolean).join("\n");
  }
}

async function cancel() {
  const { run } = state;
  if (!run?.id || !["live", "lost"].includes(state.link.state)) return;
  state.link = { state: "stopping" };
  ready();
  await ask(runPath(run.id, "/cancel"), { body: {} }).catch((error) => ((state.problem = error), (state.link = { state: "live" }), ready()));
}

/** Opens a run of the store, or one that still goes on; what is already here stays until the new one is. */
async function openRun(id, { replace = true } = {}) {
  const same = state.run?.id === id;
  if (!same) show({ run: id, demo: null }, { replace });
  turnTo(id, { loading: true, body: same ? state.body : null });
  if (!same) state.run = null;
  ready();
  const { signal } = stop;
  try {
    const info = await get(runPath(id), { signal });
    Object.assign(state, { info, loading: false, run: begin(id) });
    if (info.live) return await listen(() => ask(runPath(id, "/events"), { signal }));
    const response = await ask(runPath(id, "/events"), { signal });
    for await (const { raw, line } of linesOf(response, { signal })) {
      take(raw, line);
      if (isLast(line) && info.pending?.length) Object.assign(state.run, { pending: info.pending });
    }
    if (state.at.pos) enterReplay(Number(state.at.pos));
  } catch (error) {
    state.loading = false;
    failed(error);
  }
}

async function openDemo({ go = false } = {}) {
  show({ demo: "1", run: null, ev: go ? null : state.at.ev }, { replace: !go });
  turnTo("demo", { loading: true });
  state.run = null;
  ready();
  try {
    const response = await ask("api/demo", { signal: stop.signal });
    Object.assign(state, { loading: false, demo: true, run: begin() });
    for await (const { raw, line } of linesOf(response)) (state.raw.push(raw), fold(state.run, line));
    enterReplay(go ? 0 : state.at.pos ? Number(state.at.pos) : undefined);
    if (go) player.start();
  } catch (error) {
    state.loading = false;
    failed(error);
  }
}

function enterReplay(at) {
  state.replaying = true;
  player.load(state.raw.map(parse), at);
  ready();
}

function leaveReplay() {
  player.pause();
  state.replaying = false;
  show({ pos: null });
}

async function save(form, from) {
  const { id } = state.run;
  let text = form === "json" ? `[\n${state.raw.join(",\n")}\n]\n` : `${state.raw.join("\n")}\n`;
  try {
    if (from === "stored") text = await (await ask(runPath(id, `/export?form=${form}`))).text();
  } catch (error) {
    return failed(error);
  }
  const address = URL.createObjectURL(new Blob([text], { type: form === "json" ? "application/json" : "application/x-ndjson" }));
  const link = h("a", { href: address, download: `${id.slice(0, 12) || "run"}-${from}.${form}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// -- how it begins ------------------------------------------------------------------------------------------------

const THEMES = ["auto", "light", "dark"];
function theme(name) {
  set(document.documentElement, "data-theme", name);
  put($("theme"), `Theme: ${name}`);
}

function selected() {
  const run = shown();
  return run && selectedOf(run)?.key;
}

keys($("help"), {
  filter: () => summary.focusFilter(),
  next: () => steps.move(selected(), 1),
  previous: () => steps.move(selected(), -1),
  nextRound: () => steps.move(selected(), 1, { rounds: true }),
  previousRound: () => steps.move(selected(), -1, { rounds: true }),
  open: (event) => {
    if (!shown() || $("detail").hidden) return false;
    if (event.target.closest(".step")) select(event.target.closest(".step").dataset.key, true);
    draw();
    return void $("detail-title")?.focus();
  },
  rerun: () => (state.body ? start(state.body) : form.open(true)),
  cancel: () => void cancel(),
  help: () => $("help").showModal(),
});

function goTo() {
  const before = state.at;
  state.at = route.read(location.hash);
  const { run, demo, pos } = state.at;
  if (demo && !state.demo) openDemo();
  else if (run && run !== state.run?.id) openRun(run);
  else if (!run && !demo && (before.run || before.demo)) leave();
  else if (state.replaying && pos !== before.pos) player.load(state.raw.map(parse), pos ? Number(pos) : undefined);
  ready();
}

async function boot() {
  let kept = "auto";
  try {
    kept = localStorage.getItem("nr-llm-theme") ?? "auto";
  } catch {} // a browser that keeps nothing
  theme(THEMES.includes(kept) ? kept : "auto");
  $("theme").addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % 3];
    theme(next);
    try {
      localStorage.setItem("nr-llm-theme", next);
    } catch {}
  });
  $("keys").addEventListener("click", () => $("help").showModal());
  document.addEventListener("click", ({ target }) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(target)) menu.open = false;
  });
  $("skip").addEventListener("click", (event) => (event.preventDefault(), $("main").focus()));
  const token = route.takeToken();
  state.at = route.read(location.hash);
  try {
    if (token) await ask("api/session", { body: { token } });
    state.context = await get("api/context");
  } catch (error) {
    return failed(error);
  }
  const { version, actor, store = {} } = state.context;
  $("badges").replaceChildren(...[told("span", {}, version ?? ""), told("span", {}, actor?.id ? `as ${actor.id}` : ""), h("span", { class: "tag" }, store.kept ? `keeps runs: ${store.level}${store.memory ? ", in memory" : store.encrypted ? ", encrypted" : ""}` : "keeps nothing")].filter((node) => node.textContent));
  form.fill(state.context);
  list.fill(state.context, state.at);
  drawWelcome();
  if (store.kept) list.load();
  else put($("past-note"), "Runs are not kept: no store is set up.");
  window.addEventListener("hashchange", goTo);
  window.addEventListener("popstate", goTo);
  if (state.at.demo) return openDemo();
  if (state.at.run) return openRun(state.at.run);
  ready();
}

boot();
