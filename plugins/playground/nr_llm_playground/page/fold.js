/** Folds the lines of a run into what there is to see, without a screen: the same lines always give the same run. */

import { asText } from "./text.js";

/**
 * One row of the timeline.
 * @typedef {{key: string, kind: string, round: number, state: string, v: number, step?: any, text?: string,
 *   reasoning?: string, pieces?: string, call?: any, progress?: string, seconds?: number, gap?: any, line?: any}} Item
 *
 * @typedef {{id: string, model: string, context: any, segment: number, next: number, status: string, items: Item[],
 *   round: number, totals: any, end: any, pending: any[], prompt: string | null, news: string[], told: number, v: number}} Run
 */

/** Characters of a reply that are kept while it is written; its step brings the whole of it. */
const LIVE = 200000;

const LAST = new Set([
  "unfinished",
  "done",
  "awaiting_approval",
  "awaiting_input",
  "cancelled",
  "error",
  "budget",
  "guardrail_blocked",
  "guardrail_approval_required",
]);

/** @param {any} line @returns {boolean} whether nothing follows it in its segment */
export const isLast = (line) => LAST.has(line.event);

/** @returns {Run} a run of which nothing is known yet */
export const begin = (id = "") => ({
  id,
  model: "",
  context: null,
  segment: 0,
  next: 0,
  status: "starting",
  items: [],
  round: 0,
  end: null,
  pending: [],
  prompt: null,
  news: [],
  told: 0,
  v: 0,
  reply: null,
  calls: [],
  numbers: new Map(),
  spent: 0,
  totals: {
    rounds: 0,
    calls: 0,
    errors: 0,
    input: null,
    output: null,
    cached: null,
    total: null,
    cost: null,
    currency: null,
    ms: 0,
  },
});

/**
 * Takes a line in and returns the run, which it owns and changes in place: a copy per line would cost the square of
 * their number. A line that was seen before changes nothing; one that is missing leaves a gap to see.
 * @param {Run} run
 * @param {any} line
 * @returns {Run}
 */
export function fold(run, line) {
  if (line.event === "heartbeat") return run;
  if (line.event === "context" && (line.segment ?? run.segment) !== run.segment) run.next = line.seq ?? 0;
  else if (line.event === "context" && (run.end || run.pending.length) && line.seq === 0) run.next = 0;
  if (line.seq != null) {
    if (line.seq < run.next) return run;
    if (line.seq > run.next && line.event !== "gap") missed(run, { from: run.next, to: line.seq - 1 });
    run.next = line.seq + 1;
  }
  run.v += 1;
  if (line.t != null) [run.timed, run.totals.ms] = [true, run.spent + line.t];
  try {
    (TAKE[line.event] ?? (isLast(line) ? ended : unknown))(run, line);
  } catch {
    unknown(run, line); // of a shape that nobody writes: shown as it is, and the lines behind it as ever
    if (isLast(line)) Object.assign(run, { status: line.event, end: line, pending: [] });
  }
  return run;
}

const TAKE = {
  context(run, line) {
    if (run.context) run.spent = line.t >= run.totals.ms ? 0 : run.totals.ms; // a recording counts on
    Object.assign(run, {
      id: line.run_id ?? run.id,
      model: line.model ?? run.model,
      context: line,
      segment: line.segment ?? run.segment,
    });
    Object.assign(run, { status: "running", end: null, pending: [] });
    for (const call of run.calls) if (call.state === "wait") change(call, { state: "queued" });
  },
  step: (run, line) =>
    line.step ? step(run, line.cut ? { ...line.step, cut: true } : line.step) : add(run, "other", run.round, { line }),
  text: (run, line) => grow(run, "text", line.text),
  reasoning: (run, line) => grow(run, "reasoning", line.text),
  tool_call: (run, line) =>
    grow(run, "pieces", (line.name ? `${replyOf(run).pieces ? "\n" : ""}${line.name} ` : "") + line.arguments),
  progress(run, line) {
    const call = callOf(run, line.call_id, line.tool);
    if (call) change(call, { state: "run", progress: line.message });
  },
  tool_finished(run, line) {
    const call = callOf(run, line.call_id, line.tool);
    if (call) change(call, { state: line.is_error ? "bad" : "ok", seconds: line.seconds, over: true });
  },
  gap(run, line) {
    missed(run, line);
    run.next = Math.max(run.next, line.to + 1);
  },
};

function add(run, kind, round, fields = {}) {
  const place = `r${round}-${kind}`;
  const number = (run.numbers.get(place) ?? 0) + 1;
  run.numbers.set(place, number);
  const item = { key: `${place}-${number}`, kind, round, state: "ok", v: 1, ...fields };
  run.items.push(item);
  return item;
}

const unknown = (run, line) => void add(run, "other", run.round, { line });

function change(item, fields) {
  Object.assign(item, fields);
  item.v += 1;
}

function missed(run, gap) {
  add(run, "gap", run.round, { gap: { from: gap.from, to: gap.to }, state: "bad" });
  tell(run, `Events ${gap.from} to ${gap.to} are lost`);
}

function tell(run, text) {
  run.news = [...run.news.slice(-3), text];
  run.told += 1;
}

const replyOf = (run) =>
  (run.reply ??= add(run, "llm", run.round, { state: "run", text: "", reasoning: "", pieces: "" }));

function grow(run, field, piece) {
  const reply = replyOf(run);
  if (reply[field].length < LIVE) change(reply, { [field]: (reply[field] + (piece ?? "")).slice(0, LIVE) });
}

/** Finds the open call a line is about: ids may repeat or be masked, so the name and then the place decide. */
function callOf(run, id, name, over = (call) => call.over) {
  const open = run.calls.filter((call) => !call.step && !over(call));
  return (
    open.find((call) => call.call.id === id && call.call.name === name) ??
    open.find((call) => call.call.name === name) ??
    open[0]
  );
}

function step(run, taken) {
  run.round = taken.round || run.round;
  if (!run.timed) run.totals.ms += taken.duration_ms ?? 0;
  if (run.held) change(run.held, { state: "ok" }); // what follows says that it waits no more
  run.held = null;
  (STEP[taken.kind] ?? STEP.other)(run, taken);
}

const STEP = {
  request(run, taken) {
    run.prompt ??= promptOf(taken);
    run.calls = [];
    run.reply = null;
    add(run, "request", taken.round, { step: taken });
    replyOf(run);
  },
  assembled(run, taken) {
    run.prompt ??= promptOf(taken);
    add(run, "assembled", taken.round, { step: taken });
  },
  llm(run, taken) {
    const calls = taken.requested_tool_calls ?? (taken.requested_tool_names ?? []).map((name) => ({ id: "", name }));
    change(replyOf(run), { step: taken, state: taken.finish_reason === "length" ? "cut" : "ok" });
    run.reply = null;
    used(run.totals, taken);
    run.calls = calls.map((call) => add(run, "tool", taken.round, { state: "queued", call: call ?? {} }));
    if (calls.length)
      tell(run, `Round ${taken.round}: asks for ${calls.length === 1 ? calls[0].name : `${calls.length} calls`}`);
  },
  tool(run, taken) {
    const item =
      callOf(run, taken.tool_call_id, taken.tool_name, () => false) ??
      add(run, "tool", taken.round, { call: { id: taken.tool_call_id, name: taken.tool_name } });
    change(item, { step: taken, state: taken.tool_is_error ? "bad" : "ok" });
    run.totals.calls += taken.tool_executed === false ? 0 : 1;
    run.totals.errors += taken.tool_is_error ? 1 : 0;
    if (taken.tool_is_error)
      tell(run, `${taken.tool_name} ${taken.tool_executed === false ? "was not run" : "failed"}`);
  },
  approval: person,
  input: person,
  other: (run, taken) => add(run, taken.kind in KINDS ? taken.kind : "other", taken.round, { step: taken }),
};
const KINDS = { context: true };

function person(run, taken) {
  const waits = taken.decided_by === undefined;
  const item = add(run, taken.kind, taken.round, { step: taken, state: waits ? "wait" : "ok" });
  if (waits) run.held = item;
}

/** Returns the text of the last user message that was sent, or null where messages are not kept. */
function promptOf(taken) {
  const message = (taken.messages_sent ?? []).findLast((sent) => sent?.role === "user");
  return message ? textOf(message.content) : null;
}

/** @param {any} content of a message in its wire form @returns {string} */
export function textOf(content) {
  if (!Array.isArray(content)) return asText(content);
  return content.map((part) => part?.text ?? `[${part?.type}]`).join("\n");
}

function used(totals, taken) {
  totals.rounds += 1;
  const names = { input: "input_tokens", output: "output_tokens", cached: "cached_tokens", total: "total_tokens" };
  for (const [name, field] of Object.entries(names))
    if (taken[field] != null) totals[name] = (totals[name] ?? 0) + taken[field];
  if (taken.cost != null) totals.cost = (totals.cost ?? 0) + Number(taken.cost);
}

/** Says whether a person is asked about a call of the held turn. */
const asks = (pending, call) => pending.some((one) => one.waits && one.name === call.call.name);

function ended(run, line) {
  const waits = line.event.startsWith("awaiting");
  if (line.event === "unfinished")
    return void Object.assign(run, { status: line.status ?? "running", elsewhere: true });
  Object.assign(run, {
    status: line.event,
    end: line,
    pending: waits ? [line.pending].flat().filter((call) => typeof call === "object" && call) : [],
    id: line.run_id || run.id,
  });
  if (line.usage) {
    const { input_tokens: input, output_tokens: output, cached_tokens: cached, total_tokens: total } = line.usage;
    const known = { input, output, cached, total, rounds: line.rounds };
    for (const [name, value] of Object.entries(known)) if (value != null) run.totals[name] = value;
    run.totals.cost = line.cost ?? null;
    if (line.seconds != null) run.totals.ms = line.seconds * 1000;
    run.totals.currency = line.currency ?? null;
  }
  if (run.reply) change(run.reply, { state: "off" });
  run.reply = null;
  for (const call of run.calls.filter((call) => !call.step))
    change(call, { state: waits ? (asks(run.pending, call) ? "wait" : "queued") : call.over ? call.state : "off" });
  if (!waits) add(run, "end", run.round, { line, state: line.event === "done" && !line.truncated ? "ok" : "bad" });
}
