/** Draws the page from its state: the run in the middle, what is out of the ordinary above it, how it ended below. */

import { decide, failed, leave, openRun } from "./acts.js";
import { decideView } from "./decide.js";
import { h, told } from "./dom.js";
import { $, parts, ready, shown, state } from "./state.js";
import { banner } from "./strip.js";
import { stringify } from "./text.js";
import { endView } from "./timeline.js";
import { statusOf } from "./words.js";

/** Draws, and says so if that failed: what a run holds must never leave the page standing still. */
export function draw() {
  try {
    drawAll();
  } catch (error) {
    console.error(error);
    if (!state.problem) failed(error);
  }
}

function drawAll() {
  const run = shown();
  $("welcome").hidden = Boolean(run) || state.loading;
  for (const id of ["strip", "timeline"]) $(id).hidden = !run;
  $("scrub").hidden = !state.replaying;
  drawBanners(run);
  if (!run) return void ($("tail").replaceChildren(), parts.details.draw(null));
  const item = selectedOf(run);
  const main = $("main");
  const low = !state.at.ev && main.scrollHeight - main.scrollTop - main.clientHeight < 120;
  const more = parts.steps.draw({ run, selected: item?.key, filter: state.filter });
  parts.details.draw(item, state.at.tab, run);
  drawStrip(run);
  drawTail(run);
  if (low) toEnd(main);
  announce(run);
  if (more) ready();
}

/** Scrolls to what is newest: to the end, or to where a question or an answer begins that is higher than the window. */
function toEnd(main) {
  const [tail, strip] = [$("tail").getBoundingClientRect(), $("strip").getBoundingClientRect()];
  const above = main.getBoundingClientRect().top + strip.height + 16;
  const high = tail.height > main.clientHeight - strip.height - 32;
  main.scrollTop += high ? tail.top - above : main.scrollHeight;
}

/** Returns the step to show: the chosen one, else the newest that tells something. */
export function selectedOf(run) {
  const chosen = state.at.ev && run.items.find((item) => item.key === state.at.ev);
  if (chosen) return chosen;
  const over = run.end && run.items.findLast((item) => item.step?.tool_artifacts?.length);
  return (
    over ||
    run.items.findLast(
      (item) => item.kind !== "end" && item.kind !== "gap" && (item.step || item.text || item.kind === "tool"),
    ) ||
    run.items.at(-1)
  );
}

let ticking = 0;
function drawStrip(run) {
  const live = state.link.state;
  const running = !state.replaying && ["live", "lost", "stopping"].includes(live);
  const whole = state.demo || !state.info || state.info.replayable;
  const store = state.context?.store ?? {};
  clearTimeout(ticking);
  if (running) ticking = setTimeout(ready, 1000);
  parts.summary.draw({
    run,
    ms: run.totals.ms + (running ? performance.now() - state.heard : 0),
    live: state.replaying ? "" : live,
    limit: run.context?.rounds_limit,
    level: run.context?.level ?? state.info?.level ?? store.level,
    kept: !state.demo && (state.info ? true : store.kept),
    replayable: whole && !running && state.raw.length > 1,
    whyNot: state.info?.why_not,
    recorded: state.demo ? "demo" : state.replaying && parts.player.pos() < parts.player.all() ? "playing" : "",
    followed: !state.at.ev,
    can: {
      cancel: running,
      replay: !running && !state.replaying,
      goOn: !running && run.status === "done" && !state.demo,
      rerun: !running && Boolean(state.body),
    },
  });
}

let tail = "";
function drawTail(run) {
  const known = `${run.id} ${run.segment} ${run.next} ${run.status} ${state.replaying}`;
  const waits = run.pending.length > 0 && !state.replaying;
  const now = waits ? `${run.id} ${run.segment} ${stringify(run.pending)}` : run.end ? known : "";
  if (now === tail) return;
  tail = now;
  if ($("tail").contains(document.activeElement)) $("main").focus({ preventScroll: true }); // what had it goes
  const tools = new Map(
    (state.context?.tool_groups ?? []).flatMap((group) => group.tools.map((tool) => [tool.name, tool])),
  );
  $("tail").replaceChildren(
    ...[
      waits
        ? decideView(run.pending, tools, decide)
        : run.pending.length
          ? banner("wait", "Here the run waited for a person.")
          : endView(run),
    ].filter(Boolean),
  );
}

let heard = { run: null, told: 0 };
function announce(run) {
  if (heard.run !== run) heard = { run, told: state.replaying || state.info ? run.told : 0, status: "" };
  const news = run.news.slice(Math.max(0, run.news.length - (run.told - heard.told)));
  const [word] = statusOf(run.status, run.end?.reason);
  if (word !== heard.status && !state.replaying) news.push(word);
  Object.assign(heard, { told: run.told, status: word });
  document.title = `${word} – nr-llm playground`;
  if (news.length)
    $("log").replaceChildren(...[...$("log").children].slice(-8), ...news.map((text) => told("p", {}, text)));
}

let bannered = "";
function drawBanners(run) {
  const { problem, link, demo, back } = state;
  const known = stringify([
    problem && [problem.message, problem.id],
    link,
    demo && run?.context?.label,
    back,
    run?.elsewhere,
    state.loading,
  ]);
  if (known === bannered) return;
  bannered = known;
  const found = [];
  if (problem)
    found.push(
      banner(
        "bad",
        problem.status === 401
          ? "This page has no session. Open the address that nr-llm playground printed."
          : problem.message,
        problem.id && told("p", { class: "faint" }, `Error ${problem.id}`),
      ),
    );
  if (link.state === "lost") found.push(banner("wait", `The connection is lost. Trying again (${link.tries}) …`));
  if (link.state === "gone")
    found.push(
      banner(
        "bad",
        "The connection could not be had again. The run may go on without you.",
        h("button", { type: "button", click: () => openRun(state.run.id) }, "Try again"),
      ),
    );
  if (back) found.push(banner("ok", "The connection is back; nothing was missed unless a gap is shown."));
  if (demo)
    found.push(
      banner(
        "demo",
        run?.context?.label ?? "This is a recorded run: no model is asked.",
        h("button", { type: "button", click: () => leave() }, "Leave it"),
      ),
    );
  if (run?.elsewhere)
    found.push(
      banner(
        "wait",
        "This run goes on elsewhere, in another process.",
        h("button", { type: "button", click: () => openRun(run.id) }, "Look again"),
      ),
    );
  if (state.loading) found.push(banner("wait", "Loading …"));
  $("banners").replaceChildren(...found);
}
