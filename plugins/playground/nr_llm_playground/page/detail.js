/** Shows one step in tabs: what the model saw, what only people see, what it was called with, and the bare event. */

import { artifactView, jsonView, previewView } from "./artifacts.js";
import { h, longText, pill, say, set, told } from "./dom.js";
import { textOf } from "./fold.js";
import { bytesOf, count, duration, figure, size } from "./text.js";
import { describe, keptOf, statusOf, tokens } from "./words.js";

const note = (text, kind = "") => h("p", { class: `note ${kind}` }, text);

/** @returns {Array<[string, string, () => any]>} id, label and content of each tab */
function tabsOf(item) {
  const step = item.step ?? {};
  const tabs = [];
  const tab = (id, label, make) => tabs.push([id, label, make]);
  const withheld = keptOf(step);
  if (item.kind === "tool") {
    tab("result", "Result", () => resultOf(item, step, withheld));
    const shown = step.tool_artifacts ?? [];
    const number = shown.length || step.tool_artifacts_count;
    if (number)
      tab("artifacts", `Artifacts (${number})`, () => [
        note("Shown to people, never sent to the model.", "people"),
        shown.length
          ? shown.map(artifactView)
          : note(`Not kept: ${count(number, "artifact")} (${(step.tool_artifacts_types ?? []).join(", ")}).`),
      ]);
    const given = step.tool_arguments ?? item.call.arguments;
    tab("arguments", "Arguments", () =>
      given === undefined
        ? note(withheld || "Not known.")
        : [
            item.call.malformed && note("The model sent no valid JSON, so the tool was not run."),
            jsonView(item.call.malformed ?? given, "Arguments"),
          ],
    );
  } else if (item.kind === "request" || item.kind === "assembled") {
    tab("messages", "Messages", () =>
      step.messages_sent ? step.messages_sent.map(messageView) : note(withheld || "Not known."),
    );
    tab("tools", "Tools offered", () =>
      step.tool_specs?.length
        ? h(
            "ul",
            { class: "names" },
            step.tool_specs.map((name) => told("li", {}, name)),
          )
        : note("No tools were offered."),
    );
  } else if (item.kind === "llm") {
    tab("reply", "Reply", () => replyOf(item, step, withheld));
    if (step.reasoning || item.reasoning)
      tab("reasoning", "Reasoning", () => longText(step.reasoning ?? item.reasoning, { label: "Reasoning" }));
    const calls = step.requested_tool_calls;
    if (calls?.length)
      tab("calls", "Calls", () =>
        calls.map((call) => [
          told("h3", {}, call.name),
          jsonView(call.malformed ?? call.arguments, `Arguments of ${call.name}`),
        ]),
      );
  } else if (item.kind === "approval" || item.kind === "input") {
    tab("decision", "Decision", () => decisionOf(step, withheld));
  } else if (item.kind === "context") {
    tab("window", "Window", () =>
      factList(Object.entries(step.context_budget ?? {}).map(([name, value]) => [name, figure(value)])),
    );
  }
  if (step.raw !== undefined) tab("raw", "Raw", () => jsonView(step.raw, "The service's own reply"));
  tab("event", "Event", () => eventOf(item));
  return tabs;
}

const eventOf = (item) =>
  jsonView(item.step ?? item.line ?? item.gap ?? { call: item.call, progress: item.progress }, "Event");

/** Returns what a function makes, or else what another one does: what a run holds may have any shape. */
function safely(make, otherwise) {
  try {
    return make();
  } catch {
    return otherwise();
  }
}

const factList = (pairs) =>
  h(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => h("div", {}, told("dt", {}, name), told("dd", {}, value))),
  );

function resultOf(item, step, withheld) {
  if (!item.step)
    return note(
      { wait: "It waits for a person, so there is no result yet.", off: "It was not run." }[item.state] ??
        "It has no result yet.",
    );
  if (step.tool_result === undefined)
    return note(`${withheld} The result had ${count(step.tool_result_length ?? 0, "character")}.`);
  const what =
    step.tool_executed === false
      ? "The tool was not run; the model was told this"
      : step.tool_is_error
        ? "An error: this is what the model saw"
        : "What the model saw";
  return [
    note(`${what} (${size(bytesOf(step.tool_result))}).`, step.tool_is_error ? "bad" : ""),
    step.tool_result === "" ? note("The result is empty text.") : longText(step.tool_result, { label: "Result" }),
  ];
}

function replyOf(item, step, withheld) {
  const text = step.content ?? item.text;
  if (item.step && step.content === undefined)
    return note(`${withheld} The reply had ${count(step.content_length ?? 0, "character")}.`);
  const used = [
    ["Ends", step.finish_detail ?? step.finish_reason],
    ["Tokens", tokens(step.input_tokens, step.output_tokens)],
    ["From the cache", step.cached_tokens],
    ["Reasoning", step.reasoning_tokens],
    ["Cost", step.cost],
    ["Attempts", step.attempts],
  ];
  return [
    text
      ? longText(text, { label: "Reply", class: "said" })
      : item.pieces
        ? longText(item.pieces, { label: "Call" })
        : note(item.step ? "No text beside the calls." : "Nothing was written yet."),
    factList(used.filter(([, value]) => value != null && value !== "")),
  ];
}

function messageView(message) {
  const calls = message?.tool_calls ?? [];
  const text = textOf(message?.content);
  return h(
    "article",
    { class: "message", "data-role": message?.role },
    told("h3", {}, message?.role ?? "message"),
    text && longText(text, { label: `Message: ${message.role}` }),
    calls.map((call) => [
      told("h3", {}, `calls ${call.function?.name}`),
      longText(call.function?.arguments ?? "", { exact: true, class: "json", label: "Arguments" }),
    ]),
  );
}

function decisionOf(step, withheld) {
  const made = (step.decisions ?? []).map((one) =>
    h(
      "li",
      {},
      pill(one.approved ? "approved" : "declined", one.approved ? "ok" : "bad"),
      " ",
      told("span", {}, `${one.tool} (call ${one.index + 1})`),
      one.edited ? ", with changed arguments" : "",
      told("div", { class: "faint mono" }, `digest ${one.digest}`),
    ),
  );
  const changed = (step.edited_arguments ?? []).map((one) => [
    h("h3", {}, `Call ${one.index + 1} now runs with`),
    jsonView(one.arguments, "Arguments"),
  ]);
  const asked = (step.requested_tool_calls ?? []).map((call) => [
    told("h3", {}, call.name),
    jsonView(call.arguments, `Arguments of ${call.name}`),
  ]);
  const seen = (step.previews ?? []).map((preview) => [told("h3", {}, `${preview.tool} would`), previewView(preview)]);
  return [withheld && note(withheld), made.length > 0 && h("ul", { class: "names" }, made), changed, asked, seen];
}

/**
 * @param {HTMLElement} root
 * @param {(tab: string) => void} choose
 */
export function detail(root, choose) {
  let last = "";
  const heading = told("h2", { tabIndex: -1, id: "detail-title" }, "");
  const facts = h("div", { class: "facts-line" });
  const panel = h("div", { class: "panel", role: "tabpanel", id: "panel" });
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Details" });
  list.addEventListener("keydown", (event) => {
    const nodes = [...list.children];
    const to = { ArrowRight: 1, ArrowLeft: -1, Home: -99, End: 99 }[event.key];
    if (!to) return;
    event.preventDefault();
    const node = nodes[Math.min(nodes.length - 1, Math.max(0, nodes.indexOf(document.activeElement) + to))];
    choose(node.dataset.tab);
    list.querySelector(`[data-tab="${node.dataset.tab}"]`)?.focus();
  });

  root.append(h("header", {}, heading, facts), list, panel);

  /** Draws a step anew only when it, or what is looked at, is another one; a text that grows is appended to. */
  function draw(item, wanted, run) {
    const known = item ? `${run.id} ${run.segment} ${item.key} ${item.step ? 1 : item.v} ${wanted} ${item.state}` : "";
    if (known === last) return;
    const same = last && item && last.split(" ").slice(0, 3).join() === known.split(" ").slice(0, 3).join();
    last = known;
    root.hidden = !item;
    if (!item) return;
    const tabs = safely(
      () => tabsOf(item),
      () => [["event", "Event", () => eventOf(item)]],
    );
    const bare = () => [note("Of a shape that this page cannot read. This is all of it:"), eventOf(item)];
    const [id, , make] =
      tabs.find(([name]) => name === wanted) ?? tabs.find(([name]) => name === "artifacts") ?? tabs[0];
    const focused = list.contains(document.activeElement);
    const up = panel.scrollTop;
    list.replaceChildren(
      ...tabs.map(([name, label]) =>
        h(
          "button",
          {
            type: "button",
            role: "tab",
            id: `tab-${name}`,
            "data-tab": name,
            "aria-selected": String(name === id),
            "aria-controls": "panel",
            tabIndex: name === id ? 0 : -1,
            click: () => choose(name),
          },
          label,
        ),
      ),
    );
    if (focused) list.querySelector('[aria-selected="true"]').focus({ preventScroll: true });
    set(panel, "aria-labelledby", `tab-${id}`);
    panel.replaceChildren(...[item.step?.cut && note(keptOf(item.step)), safely(make, bare)].flat(9).filter(Boolean));
    if (same) panel.scrollTop = up;
    const { title, marks } = describe(item);
    const took = item.step?.duration_ms;
    const state = marks.length
      ? marks
      : [
          item.kind === "end" ? statusOf(run.status, run.end?.reason) : item.state === "ok" ? ["ok", "ok"] : null,
        ].filter(Boolean);
    say(heading, title);
    facts.replaceChildren(
      ...state.map(([word, mark]) => pill(word, mark)),
      h(
        "span",
        { class: "faint" },
        [item.round ? `round ${item.round}` : "", took ? duration(took) : ""].filter(Boolean).join(", "),
      ),
    );
  }
  return { draw };
}
