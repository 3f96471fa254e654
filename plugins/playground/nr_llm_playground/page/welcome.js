/** Greets whoever has not run anything yet: what is at hand, what is missing, and a recorded run to watch. */

import { openDemo } from "./acts.js";
import { h, pill, told } from "./dom.js";
import { $, state } from "./state.js";
import { count } from "./text.js";

/** Draws the greeting from what the server told of itself. */
export function drawWelcome() {
  const { advice = [], plugins = [], models = [], demo, tool_groups: groups = [] } = state.context;
  const tools = groups.reduce((sum, group) => sum + group.tools.length, 0);
  const bad = plugins.filter((plugin) => plugin.state !== "active");
  const local = models.find((model) => model.local);
  $("welcome").replaceChildren(
    ...[
      h("h2", {}, "A glass box for runs"),
      h(
        "p",
        {},
        "Ask a model something, and see all that passes between it and your tools: each request, each reply, each call, and what only you get to see.",
      ),
      h(
        "ul",
        { class: "names" },
        h(
          "li",
          {},
          models.length
            ? `${models.length === 1 ? "One model" : `${models.length} models`}${local ? `; ${local.name} stays on this machine` : ""}`
            : "No model is set up yet",
        ),
        h("li", {}, tools ? `${count(tools, "tool")} at hand` : "No tools at hand"),
      ),
      advice.map((one) =>
        h(
          "div",
          { class: "note", "data-advice": one.code },
          told("p", {}, one.text),
          one.command && told("code", {}, one.command),
        ),
      ),
      bad.length > 0 &&
        h(
          "details",
          { class: "plugins" },
          h("summary", {}, `${bad.length === 1 ? "One plugin is" : `${bad.length} plugins are`} not active`),
          h(
            "ul",
            { class: "names" },
            bad.map((one) =>
              h(
                "li",
                {},
                told("strong", {}, one.name),
                " ",
                pill(one.state, "bad"),
                told("span", { class: "faint" }, ` ${one.reason ?? ""}`),
              ),
            ),
          ),
        ),
      demo &&
        h(
          "p",
          {},
          h(
            "button",
            { type: "button", class: "main", id: "demo", click: () => openDemo({ go: true }) },
            "Watch a recorded run",
          ),
          h("span", { class: "faint" }, " needs no model and no key"),
        ),
    ]
      .flat()
      .filter(Boolean),
  );
}
