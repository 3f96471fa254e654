/** Reads the lines of a run as they come, and takes up a lost connection where it broke off. */

import { ApiError, ask, query, runPath } from "./api.js";
import { isLast } from "./fold.js";
import { parse } from "./text.js";

/** A fault of the page's own, which is no lost connection. */
class Broken extends Error {}

const SILENCE = 25000; // the server says something every 10 s
const TRIES = 8;

/**
 * Yields the lines of a response, each as its text and what it says; one that is no JSON is left out.
 * @param {Response} response
 * @returns {AsyncGenerator<{raw: string, line: any}>}
 */
export async function* linesOf(response, { signal } = {}) {
  const reader = response.body.getReader();
  const stop = () => reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop);
  const decoder = new TextDecoder();
  let rest = "";
  let timer;
  const silent = () => {
    clearTimeout(timer);
    timer = setTimeout(stop, SILENCE);
  };
  try {
    for (;;) {
      silent();
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = parts.pop();
      for (const raw of parts.map((part) => part.trim()).filter(Boolean)) {
        try {
          yield { raw, line: parse(raw) };
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
        }
      }
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

/**
 * Follows one segment of a run to its last line.
 * @param {() => Promise<Response>} open makes the first request
 * @param {{line: (raw: string, line: any) => void, link: (link: any) => void, at: () => {id: string, next: number, segment: number}, signal: AbortSignal}} tell
 */
export async function follow(open, { line: take, link, at, signal }) {
  let request = open;
  for (let tries = 0; ;) {
    try {
      const response = await request();
      if (tries) link({ state: "live", regained: tries });
      for await (const { raw, line } of linesOf(response, { signal })) {
        tries = 0;
        try {
          take(raw, line);
        } catch (cause) {
          throw new Broken("", { cause });
        }
        if (isLast(line)) return link({ state: "over" });
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Broken) throw error.cause;
      const refused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
      const never = request === open && error instanceof ApiError;
      if (refused || never || !(error instanceof ApiError || error instanceof TypeError)) throw error;
    }
    const { id, next, segment } = at();
    if (signal.aborted) return;
    if (!id) throw new ApiError(0, null);
    if (++tries > TRIES) return link({ state: "gone" });
    link({ state: "lost", tries });
    await pause(Math.min(8000, 250 * 2 ** tries), signal);
    if (signal.aborted) return;
    request = () => ask(runPath(id, `/events?${query({ after: next ? next - 1 : null, segment })}`), { signal });
  }
}

const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
