/** Holds the words for what a run does and how it ended, so that each thing is called the same everywhere. */

import { bytesOf, count, duration, figure, oneLine, size, stringify } from "./text.js";

/** Status of a run, from the stream or the store: word and kind of mark. */
const STATUS = {
  idle: ["Nothing runs", "off"],
  starting: ["Starting", "run"],
  queued: ["Queued", "wait"],
  running: ["Running", "run"],
  awaiting_approval: ["Waits for approval", "wait"],
  waiting_for_approval: ["Waits for approval", "wait"],
  awaiting_input: ["Waits for input", "wait"],
  waiting_for_input: ["Waits for input", "wait"],
  done: ["Completed", "ok"],
  completed: ["Completed", "ok"],
  cancelled: ["Cancelled", "off"],
  error: ["Failed", "bad"],
  failed: ["Failed", "bad"],
  budget: ["Budget used up", "cut"],
  guardrail_blocked: ["Blocked by a guardrail", "bad"],
  guardrail_approval_required: ["A guardrail wants an approval", "wait"],
};

/** Why a run ended where that is not plain from its status: a word for the strip, a sentence for people. */
const REASON = {
  max_rounds: ["Cut short", "The limit of rounds was reached; what the model said then is the answer."],
  length: ["Cut short", "The model reached its limit of output tokens in the middle of its answer."],
  content_filter: ["Cut short", "The service's content filter stopped the answer."],
  context_overflow: ["Cut short", "The conversation no longer fits the model's context window."],
  dry_run: ["Dry run", "Nothing was sent: this is what the first request would hold."],
  tokens_exhausted: ["Budget used up", "The run's budget of tokens is used up. A larger one lets it go on."],
  cost_exhausted: ["Budget used up", "The run's budget of money is used up. A larger one lets it go on."],
  time_exhausted: ["Budget used up", "The run's time is used up. A larger limit lets it go on."],
  bytes_exhausted: ["Budget used up", "The run's budget of tool output is used up. A larger one lets it go on."],
  calls_exhausted: ["Budget used up", "The run's budget of tool calls is used up. A larger one lets it go on."],
  actor_budget_exhausted: ["Budget used up", "Your own budget is used up for now."],
  policy_denied: ["Refused", "The policy refused what the model asked for."],
  approval_denied: ["Refused", "A person declined what the model asked for."],
  cancelled: ["Cancelled", "It was stopped here; what had begun by then is said at each call."],
};

/** @returns {[string, string]} word and mark of a status and a reason */
export function statusOf(status, reason) {
  const [word, mark] = STATUS[status] ?? [oneLine(status, 40), "off"];
  if (reason === "dry_run") return ["Dry run", "off"];
  if (REASON[reason] && (mark === "ok" || status === "failed")) return [REASON[reason][0], "cut"];
  return [word, mark];
}

/** @param {any} end a last line @returns {string} what happened, in a sentence */
export function sentence(end) {
  const guard = end.guardrail ? ` Guardrail: ${oneLine(end.guardrail, 80)}.` : "";
  if (end.event === "guardrail_blocked") return `A guardrail blocked what was said.${guard}`;
  if (end.event === "guardrail_approval_required")
    return `A guardrail stopped the run: somebody has to approve what was said.${guard}`;
  return REASON[end.reason]?.[1] ?? (end.event === "error" && !end.error ? "The run failed." : "");
}

/** @param {import("./fold.js").Item} item @returns {{title: string, sub: string, meta: string[], marks: Array<[string, string]>}} */
export function describe(item) {
  let made;
  try {
    made = (DESCRIBE[item.kind] ?? DESCRIBE.other)(item, item.step ?? {});
  } catch {
    made = { title: item.kind, sub: "Of a shape that this page cannot read; all of it is in its details." };
  }
  return { sub: "", meta: [], marks: [], ...made };
}

const DESCRIBE = {
  request(item, step) {
    const sent = step.messages_sent?.length ?? step.messages_sent_count;
    const tools = step.tool_specs ?? [];
    return {
      title: "Request",
      sub: `${sent == null ? "Messages" : count(sent, "message")} sent, ${tools.length ? `${count(tools.length, "tool")} offered` : "no tools offered"}`,
    };
  },
  assembled: (item, step) => ({ ...DESCRIBE.request(item, step), title: "Request, not sent" }),
  llm(item, step) {
    if (!item.step) {
      const live = item.text || item.reasoning || item.pieces;
      if (item.state === "off") return { title: "No reply", sub: "The run ended before the model's reply was whole." };
      return { title: live ? "The model writes" : "Waiting for the model", sub: oneLine(live.slice(-240), 240) };
    }
    const calls = step.requested_tool_calls ?? (step.requested_tool_names ?? []).map((name) => ({ name }));
    const lengths = step.content_length ? `${figure(step.content_length)} characters` : "";
    const marks =
      calls.length || step.finish_reason === "stop"
        ? []
        : [[`ends: ${oneLine(step.finish_detail ?? step.finish_reason, 40)}`, "cut"]];
    if (step.attempts > 1) marks.push([`${step.attempts} attempts`, "wait"]);
    return {
      title: calls.length
        ? `Asks for ${oneLine([...new Set(calls.map((call) => call.name))].join(", "), 120)}`
        : "Reply",
      sub: oneLine(step.content ?? lengths, 240),
      meta: [tokens(step.input_tokens, step.output_tokens), step.duration_ms ? duration(step.duration_ms) : ""],
      marks,
    };
  },
  tool(item, step) {
    const given = step.tool_arguments ?? item.call.arguments;
    const marks = [];
    const label = { queued: "queued", run: "running", wait: "waits for you", off: "not executed" }[item.state];
    if (label) marks.push([label, item.state === "queued" ? "off" : item.state]);
    if (item.state === "bad") marks.push([step.tool_executed === false ? "refused" : "error", "bad"]);
    const shown = step.tool_artifacts?.map((each) => each?.type) ?? step.tool_artifacts_types ?? [];
    const artifacts = [...new Set(shown)].map((type) => oneLine(type ?? "unknown", 20)).join(", ");
    const bytes = step.tool_result === undefined ? "" : size(bytesOf(step.tool_result));
    return {
      title: oneLine(item.step?.tool_name ?? item.call.name, 80),
      sub:
        item.progress && !item.step
          ? oneLine(item.progress, 200)
          : given === undefined
            ? ""
            : oneLine(stringify(given), 200),
      meta: [
        artifacts && `+ ${artifacts}`,
        bytes,
        item.step
          ? step.tool_executed === false
            ? ""
            : duration(step.duration_ms)
          : item.seconds
            ? duration(item.seconds * 1000)
            : "",
      ],
      marks,
    };
  },
  approval: (item, step) => decided(item, step, "approves"),
  input: (item, step) => decided(item, step, "fills in"),
  context: (item, step) => {
    const budget = step.context_budget ?? {};
    return {
      title: "Context window",
      sub:
        budget.budget == null
          ? ""
          : `${figure(budget.estimated)} of ${figure(budget.budget)} tokens estimated, ${figure(budget.remaining)} left${budget.dropped ? `, ${count(budget.dropped, "message")} left out` : ""}`,
      marks: budget.remaining < 0 ? [["does not fit", "bad"]] : [],
    };
  },
  gap: (item) => ({
    title: "Lost events",
    sub: `Events ${item.gap.from} to ${item.gap.to} could not be had again; what follows is whole.`,
  }),
  end: (item) => ({ title: statusOf(item.line.event, item.line.reason)[0] }),
  other: (item) => ({
    title: oneLine(item.step?.kind ?? item.line?.event ?? "Unknown", 60),
    sub: item.line?.withheld
      ? `Withheld: ${oneLine(item.line.withheld)}`
      : "A kind of event that this page does not know; all of it is in its details.",
  }),
};

function decided(item, step, yes) {
  if (step.decided_by === undefined) {
    const names = step.requested_tool_calls?.map((call) => call.name) ?? step.requested_tool_names ?? [];
    return {
      title: `${item.state === "wait" ? "Waits" : "Waited"} for ${yes === "approves" ? "an approval" : "input"}`,
      sub: oneLine(names.join(", ")),
      marks: [],
    };
  }
  const said = (step.decisions ?? []).map(
    (one) => `${one.approved ? yes : "declines"} ${one.tool}${one.edited ? ", arguments changed" : ""}`,
  );
  return { title: `${oneLine(step.decided_by, 60)} decided`, sub: oneLine(said.join("; "), 240) };
}

/** @returns {string} tokens in and out, as far as they are known */
export const tokens = (input, output) =>
  input == null && output == null ? "" : `${figure(input)} in, ${figure(output)} out`;

/** @param {any} step @returns {string} why content is not shown, or nothing */
export function keptOf(step) {
  if (step?.withheld)
    return `The content of this step was withheld: filtering it failed (${oneLine(step.withheld, 60)}).`;
  if (step?.cut) return "This event was too long for the page: its texts are cut here.";
  return step?.content_redacted ? "What was said is not kept: this view has counts, times and names alone." : "";
}
