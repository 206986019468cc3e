// Preferences in this browser's storage. If the browser stores nothing, they reset each time.

/** Stores a text. */
export function keep(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Without storage it is lost when the page closes.
  }
}

/** Returns a stored text, or "". */
export function recall(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}
