/** Talks to the server this page came from, and to nobody else: addresses are relative to the page's own. */

import { parse, stringify } from "./text.js";

/** What the server answered instead of what was asked for. */
export class ApiError extends Error {
  /** @param {number} status 0 where no answer came @param {any} body */
  constructor(status, body) {
    super(
      body?.error?.message ?? (status ? `The server answered with status ${status}.` : "The server cannot be reached."),
    );
    Object.assign(this, { status, code: body?.error?.code, id: body?.error?.id, body: body ?? {} });
  }
}

/**
 * Sends a request and returns the response, if it succeeded.
 * @param {string} path such as `api/runs`
 * @param {{body?: unknown, signal?: AbortSignal}} [how] with a body it is a POST
 * @returns {Promise<Response>}
 */
export async function ask(path, { body, signal } = {}) {
  const headers = { "X-NR-LLM": "1", ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  const sent = {
    method: body === undefined ? "GET" : "POST",
    headers,
    signal,
    credentials: "same-origin",
    cache: "no-store",
  };
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), {
      ...sent,
      ...(body === undefined ? {} : { body: stringify(body) }),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  if (response.ok) return response;
  throw new ApiError(
    response.status,
    await response
      .text()
      .then(parse)
      .catch(() => null),
  );
}

/** Sends a request and returns its JSON. */
export const get = async (path, how) => parse(await (await ask(path, how)).text());

/** @param {Object<string, unknown>} values @returns {string} a query without what is empty */
export const query = (values) =>
  new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null)).toString();

/** @param {string} id @param {string} [more] @returns {string} the address of a run */
export const runPath = (id, more = "") => `api/runs/${encodeURIComponent(id)}${more}`;
