/** Makes a form out of an input schema, and reads back what was filled in; what it cannot draw is asked for as JSON. */

import { h, told } from "./dom.js";
import { parse, stringify } from "./text.js";

/**
 * One field of a form.
 * @typedef {{name: string, label: string, kind: string, required: boolean, nullable: boolean, choices?: any[], hint: string, schema: any}} Field
 */

/** Follows a reference within the schema. */
function resolved(schema, root) {
  for (let times = 0; schema?.$ref?.startsWith("#/") && times < 9; times += 1) {
    const { $ref, ...beside } = schema;
    schema = {
      ...$ref
        .slice(2)
        .split("/")
        .reduce((at, key) => at?.[key], root),
      ...beside,
    };
  }
  return schema ?? {};
}

/** @param {any} schema of an object @returns {Field[]} */
export function fieldsOf(schema) {
  return Object.entries(schema?.properties ?? {}).map(([name, given]) => {
    let one = resolved(given, schema);
    const branches = (one.anyOf ?? one.oneOf ?? []).map((branch) => resolved(branch, schema));
    const others = branches.filter((branch) => branch.type !== "null");
    if (branches.length && others.length === 1) one = { ...one, ...others[0] };
    const types = [one.type].flat().filter((type) => type && type !== "null");
    const choices = one.enum ?? (one.const === undefined ? undefined : [one.const]);
    const items = resolved(one.items, schema);
    const plain =
      ["string", "integer", "number", "boolean"].includes(types[0]) &&
      types.length === 1 &&
      !(branches.length && others.length !== 1);
    const kind = choices
      ? "choice"
      : plain
        ? types[0]
        : types[0] === "array" && items.type === "string" && !items.enum
          ? "lines"
          : "json";
    const nullable =
      branches.length > others.length || [one.type].flat().includes("null") || (choices?.includes(null) ?? false);
    const required = schema.required?.includes(name) ?? false;
    return {
      name,
      label: one.title ?? name,
      kind,
      required,
      nullable,
      choices: choices?.filter((choice) => choice !== null),
      hint: hintOf(one, kind),
      schema: one,
    };
  });
}

function hintOf(one, kind) {
  const span = [
    one.minimum != null && `at least ${one.minimum}`,
    one.maximum != null && `at most ${one.maximum}`,
    one.minLength && `at least ${one.minLength} characters`,
    one.maxLength && `at most ${one.maxLength} characters`,
    one.pattern && `like ${one.pattern}`,
    one.format,
  ];
  return [one.description, span.filter(Boolean).join(", "), { lines: "One per line.", json: "As JSON." }[kind]]
    .filter(Boolean)
    .join(" ");
}

/**
 * Reads what was typed as the schema's type.
 * @param {Field} field
 * @param {string} typed
 * @returns {any} undefined where the key is to be left out
 * @throws {SyntaxError} it is no such value
 */
export function valueOf(field, typed) {
  if (typed === "") return field.required && field.nullable ? null : undefined;
  if (field.kind === "string") return typed;
  if (field.kind === "boolean") return typed === "true";
  if (field.kind === "choice") return field.choices[Number(typed)];
  if (field.kind === "lines") return typed.split("\n").filter(Boolean);
  if (field.kind === "json") return parse(typed);
  if (!/^-?\d/.test(typed.trim()) || (field.kind === "integer" && !/^-?\d+$/.test(typed.trim())))
    throw new SyntaxError(field.kind === "integer" ? "a whole number" : "a number");
  return parse(typed.trim());
}

/**
 * @param {any} schema
 * @param {string} id what the elements' ids begin with
 * @returns {{node: HTMLElement, read: () => {values: any, faults: string[]}}}
 */
export function schemaForm(schema, id) {
  const fields = fieldsOf(schema).map((field) => ({ field, ...controlOf(field, `${id}-${field.name}`) }));
  const node = h(
    "div",
    { class: "fields" },
    fields.map((each) => each.node),
    !fields.length && h("p", { class: "faint" }, "This form has no fields."),
  );
  function read() {
    const [values, faults] = [{}, []];
    for (const { field, control } of fields) {
      control.removeAttribute("aria-invalid");
      try {
        const value = valueOf(field, control.value);
        if (value !== undefined) values[field.name] = value;
        else if (field.required) throw new SyntaxError("needed");
      } catch (error) {
        control.setAttribute("aria-invalid", "true");
        faults.push(
          `${field.label}: ${field.kind === "json" && error.message !== "needed" ? "no valid JSON" : `is to be ${error.message}`}`.replace(
            "is to be needed",
            "is needed",
          ),
        );
      }
    }
    return { values, faults };
  }
  return { node, read };
}

function controlOf(field, id) {
  const { kind, schema, choices } = field;
  const about = {
    id,
    "aria-describedby": field.hint ? `${id}-hint` : null,
    "aria-required": field.required ? "true" : null,
  };
  const first =
    schema.default === undefined || schema.default === null
      ? ""
      : kind === "choice"
        ? String(choices.indexOf(schema.default))
        : typeof schema.default === "string"
          ? schema.default
          : kind === "lines"
            ? schema.default.join("\n")
            : stringify(schema.default);
  const options = {
    choice: choices?.map((choice, at) => [String(at), String(choice)]),
    boolean: [
      ["true", "yes"],
      ["false", "no"],
    ],
  }[kind];
  let control;
  if (options)
    control = h(
      "select",
      about,
      h("option", { value: "" }, "–"),
      options.map(([value, label]) => told("option", { value }, label)),
    );
  else if (kind === "lines" || kind === "json" || (kind === "string" && schema.maxLength > 200))
    control = h("textarea", { ...about, rows: 3 });
  else
    control = h("input", {
      ...about,
      type: { date: "date", email: "email", password: "password" }[schema.format] ?? "text",
      inputmode: kind === "string" ? null : kind === "integer" ? "numeric" : "decimal",
      autocomplete: "off",
    });
  control.value = first;
  const label = h(
    "label",
    { for: id },
    told("span", {}, field.label),
    field.required ? "" : h("span", { class: "faint" }, " (optional)"),
  );
  return {
    control,
    node: h(
      "div",
      { class: "field" },
      label,
      control,
      field.hint && told("p", { class: "faint", id: `${id}-hint` }, field.hint),
    ),
  };
}
