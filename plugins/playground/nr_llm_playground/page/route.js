/** Keeps what is looked at in the address, so that every view can be linked to, reloaded and gone back to. */

const NAMES = ["run", "demo", "ev", "tab", "pos", "status", "configuration", "text"];

/** @param {string} hash @returns {Object<string, string>} */
export function read(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  return Object.fromEntries(NAMES.filter((name) => found.get(name)).map((name) => [name, found.get(name)]));
}

/** @param {Object<string, string | number | null | undefined>} route @returns {string} */
export function write(route) {
  const kept = NAMES.filter((name) => route[name] != null && route[name] !== "").map((name) => [
    name,
    String(route[name]),
  ]);
  return kept.length ? `#${new URLSearchParams(kept)}` : "#";
}

/**
 * Takes the one-time token out of the address, before anything can keep it.
 * @returns {string | null}
 */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1));
  const token = found.get("token");
  if (token !== null) {
    found.delete("token");
    history.replaceState(null, "", `${location.pathname}${location.search}#${found}`);
  }
  return token;
}

/** Shows a view in the address; a change of selection replaces the entry, so that Back leads to another run. */
export function show(route, { replace = true } = {}) {
  const address = `${location.pathname}${location.search}${write(route)}`;
  if (write(route) === (location.hash || "#")) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
}
