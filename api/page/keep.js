// What this browser remembers of how the page was used. A browser that keeps nothing
// begins anew each time.

/** Remembers a text. */
export function keep(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Then it holds until the page is left.
  }
}

/** What was remembered; empty where nothing was. */
export function recall(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}
