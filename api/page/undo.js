// Work with an undo: it is done after some seconds, or at once when the user goes on or leaves.
import { button, el, tell } from "./dom.js";

let waiting = null; // {timer, work, wrong}

/** Returns a line that says what was done and takes it back on request. wrong shows a failure. */
export function undoable(said, work, { wrong, undone }, ...more) {
  finish();
  const mine = { work, wrong, timer: setTimeout(() => { if (waiting === mine) finish(); }, 8000) };
  waiting = mine;
  tell(said);
  const line = el("p", { class: "note row" }, el("span", { text: said }), button("Undo", () => {
    if (waiting !== mine) return void wrong(new Error("It is too late to undo this."));
    clearTimeout(mine.timer);
    waiting = null;
    line.remove();
    tell("Undone.");
    undone();
  }, { class: "outline" }), ...more);
  return line;
}

/** Does now what waits. */
export async function finish() {
  const now = waiting;
  waiting = null;
  if (!now) return;
  clearTimeout(now.timer);
  try {
    await now.work();
  } catch (e) {
    now.wrong(e);
  }
}

addEventListener("pagehide", finish);
