/** Lists the runs of the store; what is filtered stands in the address. */

import { get, query } from "./api.js";
import { h, pill, put, set, told } from "./dom.js";
import { write } from "./route.js";
import { $ } from "./state.js";
import { figure, moment, oneLine } from "./text.js";
import { statusOf } from "./words.js";

const STATUSES = ["running", "waiting_for_approval", "waiting_for_input", "completed", "failed", "cancelled"];

/** @param {(filters: any) => void} filtered */
export function past(filtered) {
  let [next, asked, runs, current] = [null, 0, [], ""];
  $("find-status").replaceChildren(
    h("option", { value: "" }, "Any status"),
    ...STATUSES.map((name) => h("option", { value: name }, statusOf(name)[0])),
  );
  const filters = () => ({
    status: $("find-status").value,
    configuration: $("find-configuration").value,
    text: $("find-text").value.trim(),
  });

  function fill(context, route) {
    const names = (context.configurations ?? []).map((one) => one.name);
    $("find-configuration").replaceChildren(
      h("option", { value: "" }, "Any configuration"),
      ...names.map((name) => told("option", { value: name }, name)),
    );
    $("find-configuration").hidden = !names.length;
    for (const name of ["status", "configuration", "text"]) $(`find-${name}`).value = route[name] ?? "";
  }

  async function load({ more = false } = {}) {
    const mine = (asked += 1);
    try {
      const found = await get(`api/runs?${query({ ...filters(), before: more ? next : "", limit: 30 })}`);
      if (mine !== asked) return;
      runs = more ? [...runs, ...found.runs] : found.runs;
      next = found.next;
      draw();
      const some = Object.values(filters()).some(Boolean);
      put($("past-note"), runs.length ? "" : some ? "No run is like that." : "No run is kept yet.");
    } catch (error) {
      if (mine === asked) put($("past-note"), error.message);
    }
  }

  function draw() {
    $("past-more").hidden = !next;
    $("past").replaceChildren(...runs.map(rowOf));
    mark(current);
  }

  function rowOf(run) {
    const [word, state] = statusOf(run.status, run.reason);
    const facts = [moment(run.began), run.usage?.total_tokens != null && `${figure(run.usage.total_tokens)} tokens`]
      .filter(Boolean)
      .join(", ");
    return h(
      "li",
      {},
      h(
        "a",
        { href: write({ ...filters(), run: run.run_id }), "data-run": run.run_id },
        told("span", { class: "title" }, oneLine(run.prompt ?? run.configuration ?? run.model, 90)),
        pill(word, state),
        told("span", { class: "faint mono" }, run.run_id.slice(0, 12)),
        h("span", { class: "faint when" }, facts),
      ),
    );
  }

  function mark(id) {
    current = id;
    for (const link of $("past").querySelectorAll("a"))
      set(link, "aria-current", link.dataset.run === id ? "page" : null);
  }

  const again = () => (filtered(filters()), load());
  let timer;
  $("find-text").addEventListener("input", () => (clearTimeout(timer), (timer = setTimeout(again, 250))));
  for (const name of ["status", "configuration"]) $(`find-${name}`).addEventListener("change", again);
  $("find").addEventListener("submit", (event) => (event.preventDefault(), again()));
  $("past-more").addEventListener("click", () => load({ more: true }));
  return { fill, load, mark };
}
