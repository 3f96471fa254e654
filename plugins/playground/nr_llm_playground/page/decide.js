/** Lets a person decide about calls that wait: each seen whole, each decided by itself, none by accident. */

import { jsonView, previewView } from "./artifacts.js";
import { h, longText, put, told } from "./dom.js";
import { schemaForm } from "./forms.js";
import { count, parse, stringify } from "./text.js";

/**
 * @param {any[]} pending the calls of the held turn
 * @param {Map<string, any>} tools what is known of the tools, by name
 * @param {(what: "decide" | "submit", body: any) => Promise<any>} send resolves to what was wrong, or nothing
 * @returns {HTMLElement}
 */
export function decideView(pending, tools, send) {
  const forms = pending.some((call) => call.form && call.waits);
  const cards = pending
    .filter((call) => call.waits)
    .map((call) => (call.form ? formCard : callCard)(call, tools.get(call.name), () => ready()));
  const others = pending.filter((call) => !call.waits);
  const wrong = h("p", { class: "note bad", role: "alert", hidden: true });
  const button = h("button", { class: "main", type: "submit" });
  const form = h("form", { class: "decide", "aria-label": "Calls that wait for you", submit: go, novalidate: true });

  function ready() {
    const said = cards.filter((card) => card.said()).length;
    button.disabled = !said;
    put(button, forms ? "Send" : said ? `Send ${count(said, "decision")}` : "Decide first");
    wrong.hidden = true;
  }

  async function go(event) {
    event.preventDefault();
    const read = cards.filter((card) => card.said()).map((card) => card.read());
    const faults = read.flatMap((one) => one.faults ?? []);
    if (!faults.length) {
      const held = form.contains(document.activeElement);
      button.disabled = true; // which takes the focus away from it
      const refused = await send(forms ? "submit" : "decide", {
        [forms ? "submissions" : "decisions"]: read.map((one) => one.body),
      });
      button.disabled = false;
      if (held && document.activeElement === document.body)
        (refused ? button : document.getElementById("main")).focus({ preventScroll: true });
      if (refused) faults.push(refused);
    }
    wrong.hidden = !faults.length;
    put(wrong, faults.join("\n"));
  }

  form.append(
    h(
      "h3",
      {},
      forms
        ? "Your input is needed"
        : cards.length === 1
          ? "This call waits for you"
          : `${count(cards.length, "call")} wait for you`,
    ),
    h("p", { class: "faint" }, "Nothing of this turn has been run yet."),
    ...cards.map((card) => card.node),
    others.length
      ? told("p", { class: "faint" }, `Runs after that, unasked: ${others.map((call) => call.name).join(", ")}`)
      : "",
    wrong,
    button,
  );
  ready();
  return form;
}

function head(call, tool) {
  const from = tool?.distribution ? `${tool.distribution} ${tool.version ?? ""}` : "";
  return h(
    "header",
    {},
    told("h4", {}, call.name),
    tool?.effect && h("span", { class: "tag", "data-effect": tool.effect }, tool.effect),
    told("span", { class: "faint" }, from),
  );
}

function callCard(call, tool, changed) {
  const name = `call-${call.index}`;
  const known = call.arguments !== undefined;
  const fault = h("p", { class: "faint", role: "status" });
  const area = h("textarea", {
    class: "mono",
    rows: 6,
    spellcheck: "false",
    "aria-label": `Arguments of ${call.name} as JSON`,
    value: known ? stringify(call.arguments, 2) : "",
    input: () => (check(), changed()),
  });
  const editor = h(
    "div",
    { hidden: true },
    area,
    fault,
    call.preview && h("p", { class: "faint" }, "The preview is about the model's arguments, not about yours."),
  );
  const seen = h(
    "div",
    {},
    call.malformed
      ? [
          h("p", { class: "note bad" }, "What the model sent is no valid JSON, so the tool will not be run with it:"),
          longText(call.malformed, { exact: true }),
        ]
      : known
        ? jsonView(call.arguments, `Arguments of ${call.name}`)
        : h("p", { class: "note" }, "The arguments are withheld from this view, so it can only be declined here."),
  );
  const edit = h(
    "button",
    { type: "button", class: "quiet", "aria-expanded": "false", click: () => toggle() },
    "Edit arguments",
  );
  const radio = (value, label, disabled) =>
    h(
      "label",
      { class: `choice ${value}` },
      h("input", { type: "radio", name, value, disabled, change: changed }),
      label,
    );
  const node = h(
    "fieldset",
    { class: "call", "data-index": call.index },
    h("legend", {}, `Call ${call.index + 1}`),
    head(call, tool),
    seen,
    editor,
    known && edit,
    call.preview && h("div", {}, h("h5", {}, "What it would do"), previewView(call.preview)),
    h(
      "div",
      { class: "choices" },
      radio("approve", "Approve", !call.digest || !known),
      radio("deny", "Deny", !call.digest),
    ),
    !call.digest && h("p", { class: "note" }, "Whoever may decide about it sees more than this view shows."),
  );

  function toggle() {
    [editor.hidden, seen.hidden] = [!editor.hidden, editor.hidden];
    edit.setAttribute("aria-expanded", String(!editor.hidden));
    put(edit, editor.hidden ? "Edit arguments" : "Keep the model's arguments");
    changed();
  }
  function check() {
    try {
      const value = parse(area.value);
      const good = value && typeof value === "object" && !Array.isArray(value);
      put(fault, good ? "" : "An object is needed.");
      return good ? value : null;
    } catch (error) {
      put(fault, `No valid JSON: ${error.message}`);
      return null;
    }
  }
  const said = () => node.querySelector("input:checked")?.value;
  function read() {
    const approve = said() === "approve";
    const edited = approve && !editor.hidden ? check() : undefined;
    if (edited === null) return { faults: [`${call.name}: the changed arguments are no JSON object.`] };
    const differs = edited && stringify(edited) !== stringify(call.arguments);
    return { body: { index: call.index, approve, digest: call.digest, ...(differs ? { arguments: edited } : {}) } };
  }
  return { node, said, read };
}

function formCard(call, tool, changed) {
  const form = schemaForm(call.form, `form-${call.index}`);
  const decline = h("input", { type: "checkbox", change: () => ((form.node.hidden = decline.checked), changed()) });
  const node = h(
    "fieldset",
    { class: "call", "data-index": call.index },
    h("legend", {}, `Call ${call.index + 1}`),
    head(call, tool),
    call.arguments !== undefined &&
      h("details", {}, h("summary", {}, "What the model sent"), jsonView(call.arguments, "Arguments")),
    form.node,
    h("label", { class: "check" }, decline, "Decline: the call is not run, and the model is told"),
  );
  function read() {
    const { values, faults } = decline.checked ? { values: null, faults: [] } : form.read();
    return { faults, body: { index: call.index, digest: call.digest, values } };
  }
  return { node, said: () => Boolean(call.digest), read };
}
