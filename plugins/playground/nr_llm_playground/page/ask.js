/** Reads the run form: what is asked, of whom, with which tools, and how far it may go. */

import { h, put, set, told } from "./dom.js";
import { $ } from "./state.js";
import { count, figure, oneLine, parse, size } from "./text.js";

const FIGURES = {
  rounds: "Rounds",
  calls: "Calls",
  tokens: "Tokens",
  cost: "Cost",
  seconds: "Seconds",
  temperature: "Temperature",
  max_tokens: "Tokens per reply",
};
const OPTIONS = new Set(["temperature", "max_tokens"]);

/** @param {number} ticked @param {number} all @returns {"all" | "none" | "some"} */
export const tri = (ticked, all) => (ticked === 0 ? "none" : ticked === all ? "all" : "some");

/** @param {(body: any) => void} start */
export function askForm(start) {
  let [context, boxes, touched, files, continues] = [null, [], false, [], null];

  /** Fills the form with what the server offers. */
  function fill(given) {
    context = given;
    const { models = [], configurations = [] } = context;
    $("model").replaceChildren(
      h("option", { value: "" }, context.default_model ? `Default (${context.default_model})` : "Default"),
      ...models.map((model) => told("option", { value: model.name }, model.name)),
    );
    $("configuration").replaceChildren(
      h("option", { value: "" }, context.default_configuration ? `Default (${context.default_configuration})` : "None"),
      ...configurations.map((one) => told("option", { value: one.name }, one.name)),
    );
    for (const node of [$("configuration"), document.querySelector(".when")]) node.hidden = !configurations.length;
    const { defaults = {}, caps = {} } = context.limits ?? {};
    $("limits").replaceChildren(
      ...Object.entries(FIGURES).map(([name, label]) => {
        const step = ["cost", "temperature", "seconds"].includes(name) ? "any" : 1;
        return h(
          "div",
          {},
          h("label", { for: `limit-${name}` }, label),
          h("input", {
            id: `limit-${name}`,
            type: "number",
            min: 0,
            max: caps[name] ?? null,
            step,
            placeholder: defaults[name] ?? "–",
          }),
        );
      }),
    );
    drawTools();
    noteModel();
    for (const button of $("ask").querySelectorAll(".actions button")) button.disabled = !models.length;
  }

  function noteModel() {
    const model = context.models?.find((one) => one.name === ($("model").value || context.default_model));
    const where =
      model && (model.local ? "Stays on this machine." : `Leaves this machine: ${model.host ?? "a service"}.`);
    put(
      $("model-note"),
      model ? [where, model.notice].filter(Boolean).join(" ") : context.models?.length ? "" : "None is set up yet.",
    );
  }

  function drawTools() {
    boxes = [];
    touched = false;
    const groups = context.tool_groups ?? [];
    const wanted = context.configurations?.find((one) => one.name === $("configuration").value)?.tools;
    const seek = h("input", {
      type: "search",
      placeholder: "Find a tool",
      "aria-label": "Find a tool",
      input: () => find(seek.value.toLowerCase()),
    });
    const all = (ticked, label) =>
      h(
        "button",
        { type: "button", class: "quiet", click: () => (boxes.forEach((box) => (box.checked = ticked)), changed()) },
        label,
      );
    $("tool-list").replaceChildren(
      h("div", { class: "tools" }, seek, all(true, "All"), all(false, "None")),
      ...groups.map((group) => groupOf(group, wanted)),
    );
    if (!groups.length) $("tool-list").replaceChildren(h("p", { class: "faint" }, "No plugin offers a tool."));
    recount();
  }

  function groupOf(group, wanted) {
    const head = h("input", { type: "checkbox", "aria-label": `All of ${group.name}` });
    const rows = group.tools.map((tool) => {
      const box = h("input", {
        type: "checkbox",
        value: tool.name,
        checked: wanted ? wanted.includes(tool.name) : Boolean(tool.enabled),
        change: () => changed(),
      });
      box.head = head;
      boxes.push(box);
      const more = [
        tool.effect,
        tool.asks_first && "asks first",
        tool.distribution && `${tool.distribution} ${tool.version ?? ""}`,
      ]
        .filter(Boolean)
        .join(", ");
      return h(
        "label",
        { class: "check tool" },
        box,
        h(
          "span",
          {},
          told("strong", {}, tool.name),
          h("span", { class: "faint" }, ` ${more}`),
          told("span", { class: "faint what" }, oneLine(tool.description, 140)),
        ),
      );
    });
    head.addEventListener(
      "change",
      () => (boxes.filter((box) => box.head === head).forEach((box) => (box.checked = head.checked)), changed()),
    );
    return h("fieldset", {}, h("legend", {}, h("label", { class: "check" }, head, told("span", {}, group.name))), rows);
  }

  function find(wanted) {
    for (const row of $("tool-list").querySelectorAll(".tool"))
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
  }

  function changed() {
    touched = true;
    recount();
  }

  function recount() {
    for (const head of new Set(boxes.map((box) => box.head))) {
      const mine = boxes.filter((box) => box.head === head);
      const state = tri(mine.filter((box) => box.checked).length, mine.length);
      [head.checked, head.indeterminate] = [state === "all", state === "some"];
    }
    const ticked = boxes.filter((box) => box.checked).length;
    put($("tools-count"), ticked ? `${ticked} of ${boxes.length}` : "none will be offered");
  }

  /** Returns the request; tools are null while nobody touched them, and [] where none is ticked. */
  function read(dry) {
    const [limits, options] = [{}, {}];
    for (const name of Object.keys(FIGURES)) {
      const typed = $(`limit-${name}`).value;
      if (typed !== "") (OPTIONS.has(name) ? options : limits)[name] = name === "cost" ? typed : parse(typed);
    }
    const given = {
      prompt: $("prompt").value,
      model: $("model").value,
      configuration: $("configuration").value,
      system: $("system").value,
      privacy: $("privacy").value,
      continues,
    };
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
    body.tools = touched ? boxes.filter((box) => box.checked).map((box) => box.value) : null;
    if (Object.keys(limits).length) body.limits = limits;
    if (Object.keys(options).length) body.options = options;
    if (files.length) body.attachments = files;
    if (dry) body.dry_run = true;
    return body;
  }

  /** Says what is wrong with the form, or nothing. */
  function fault(text) {
    $("ask-fault").hidden = !text;
    put($("ask-fault"), text ?? "");
    set($("prompt"), "aria-invalid", text && !$("prompt").value.trim() ? "true" : null);
  }

  function go(dry) {
    const body = read(dry);
    const bad = [...$("ask").querySelectorAll("input")].find((node) => !node.validity.valid);
    if (!body.prompt?.trim()) return fault("Write a prompt first.");
    if (bad) return fault(`${bad.labels[0]?.textContent ?? "A value"}: ${bad.validationMessage}`);
    fault(null);
    start(body);
  }

  async function attach() {
    const cap = context?.limits?.upload_bytes ?? 1 << 20;
    const read = await Promise.all(
      [...$("files").files].map(async (file) => ({
        name: file.name,
        media_type: file.type || "application/octet-stream",
        data: await base64(file),
      })),
    );
    files.push(...read);
    $("files").value = "";
    const bytes = files.reduce((sum, file) => sum + file.data.length, 0);
    fault(bytes > cap ? `The attachments come to ${size(bytes)}; the server takes ${size(cap)}.` : null);
    drawFiles();
  }

  function drawFiles() {
    put($("files-count"), files.length ? figure(files.length) : "");
    $("file-list").replaceChildren(
      ...files.map((file, at) =>
        h(
          "li",
          {},
          told("span", {}, `${file.name}, ${size(Math.round(file.data.length * 0.75))} `),
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              "aria-label": `Remove ${oneLine(file.name)}`,
              click: () => (files.splice(at, 1), drawFiles()),
            },
            "Remove",
          ),
        ),
      ),
    );
  }

  function goOn(id) {
    continues = id;
    $("continues").hidden = !id;
    $("continues").replaceChildren(
      ...(id
        ? [
            "Goes on with run ",
            told("code", {}, id.slice(0, 12)),
            " ",
            h("button", { type: "button", class: "quiet", click: () => goOn(null) }, "Start afresh"),
          ]
        : []),
    );
    if (id) open(true);
  }

  /** Shows the form, or what was asked in one line. */
  function open(shown, body) {
    const typed = $("ask").contains(document.activeElement);
    $("ask").hidden = !shown;
    $("again").hidden = shown;
    if (typed && !shown) $("again").focus({ preventScroll: true }); // what had the focus is gone
    if (body)
      $("again").replaceChildren(
        told("strong", {}, oneLine(body.configuration ?? body.model ?? context?.default_model ?? "", 60)),
        told("span", {}, oneLine(body.prompt, 80)),
        h("span", { class: "faint" }, `${body.tools ? count(body.tools.length, "tool") : "default tools"}. Change`),
      );
    if (shown) $("prompt").focus();
  }

  $("ask").addEventListener("submit", (event) => (event.preventDefault(), go(false)));
  $("dry").addEventListener("click", () => go(true));
  $("again").addEventListener("click", () => open(true));
  $("model").addEventListener("change", noteModel);
  $("configuration").addEventListener("change", () => {
    const one = context.configurations.find((each) => each.name === $("configuration").value);
    if (one?.model) $("model").value = "";
    drawTools();
  });
  $("files").addEventListener("change", attach);
  $("prompt").addEventListener(
    "keydown",
    (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && go(false),
  );
  return { fill, open, goOn, go, fault };
}

const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.split(",")[1] ?? "");
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
