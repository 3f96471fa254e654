/** Joins the parts: lines come in, are folded into a run, and one frame later the page shows it. */

import { cancel, enterReplay, failed, leave, leaveReplay, openDemo, openRun, save, start } from "./acts.js";
import { ask, get } from "./api.js";
import { askForm } from "./ask.js";
import { detail } from "./detail.js";
import { h, put, told } from "./dom.js";
import { keys } from "./keys.js";
import { past } from "./past.js";
import { replay } from "./replay.js";
import * as route from "./route.js";
import { draw, selectedOf } from "./screen.js";
import { $, parts, ready, show, shown, state } from "./state.js";
import { strip } from "./strip.js";
import { parse } from "./text.js";
import { theme } from "./theme.js";
import { timeline } from "./timeline.js";
import { drawWelcome } from "./welcome.js";

const player = replay($("scrub"), moved, leaveReplay);
const steps = timeline($("steps"), select);
const form = askForm(start);
const list = past(show);
const summary = strip($("strip"), {
  cancel,
  replay: () => enterReplay(),
  rerun: () => state.body && start(state.body),
  goOn: () => form.goOn(state.run.id),
  export: save,
  filter: (text) => ((state.filter = text.toLowerCase()), ready()),
  follow: () => show({ ev: null }),
});
Object.assign(parts, {
  player,
  steps,
  form,
  list,
  summary,
  draw,
  details: detail($("detail"), (tab) => show({ tab })),
});

function moved() {
  if (state.replaying) show({ pos: player.pos() < player.all() ? player.pos() : null });
}

function select(key, open) {
  show({ ev: key });
  if (open && getComputedStyle($("detail")).position === "static") $("detail").scrollIntoView({ block: "start" });
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
  theme($("theme"));
  $("keys").addEventListener("click", () => $("help").showModal());
  $("skip").addEventListener("click", (event) => (event.preventDefault(), $("main").focus()));
  document.addEventListener("click", ({ target }) => {
    for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(target)) menu.open = false;
  });
  const token = route.takeToken();
  state.at = route.read(location.hash);
  try {
    if (token) await ask("api/session", { body: { token } });
    state.context = await get("api/context");
  } catch (error) {
    return failed(error);
  }
  fill();
  window.addEventListener("hashchange", goTo);
  window.addEventListener("online", () => state.link.state === "gone" && openRun(state.run.id));
  if (state.at.demo) return openDemo();
  if (state.at.run) return openRun(state.at.run);
  ready();
}

/** Fills in what the server told of itself. */
function fill() {
  const { version, actor, store = {} } = state.context;
  const where = store.memory ? ", in memory" : store.encrypted ? ", encrypted" : "";
  const badges = [
    version && told("span", {}, version),
    actor?.id && told("span", {}, `as ${actor.id}`),
    h("span", { class: "tag" }, store.kept ? `keeps runs: ${store.level}${where}` : "keeps nothing"),
  ];
  $("badges").replaceChildren(...badges.filter(Boolean));
  form.fill(state.context);
  list.fill(state.context, state.at);
  drawWelcome();
  if (store.kept) list.load();
  else put($("past-note"), "Runs are not kept: no store is set up.");
}

boot();
