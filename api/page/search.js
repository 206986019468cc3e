// Searches the passages of the documents while the user types.
import { get } from "./api.js";
import { $, el, fill, show, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { passage } from "./sources.js";

let turn = 0; // results of earlier requests are not drawn

export function reset() {
  turn++;
  show($("passages"), false);
}

/** Draws the passages nearest to a text. */
export async function search(text) {
  const mine = ++turn;
  if (!here.space || text.length < 2) return show($("passages"), false);
  try {
    const { passages } = await get(`${at("search")}?limit=8&q=${encodeURIComponent(text)}`);
    if (mine !== turn) return;
    const words = wordsOf(text);
    fill($("passages-list"), passages.map((p) => el("li", {}, passage(p, highlighted(p.quote, words)))));
    show($("passages"), passages.length > 0);
  } catch (e) {
    if (mine !== turn) return;
    fill($("passages-list"), el("li", {}, wrongLine(e)));
    show($("passages"));
  }
}

const small = new Set("a an and are at by did do does for from how in is it of on or the to was were what when where which who why with".split(" "));

const wordsOf = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((w) => !small.has(w));

// highlighted cuts a text to the place of the first word found, and marks all.
function highlighted(text, words) {
  const whole = text.replace(/\s+/g, " ");
  if (words.length === 0) return whole;
  const begins = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join("|")})[\\p{L}\\p{N}]*`, "giu");
  const first = whole.search(begins);
  const from = first > 80 ? whole.lastIndexOf(" ", first - 60) + 1 : 0;
  const shown = (from > 0 ? "… " : "") + whole.slice(from);
  const parts = [];
  let done = 0;
  for (const m of shown.matchAll(begins)) {
    parts.push(shown.slice(done, m.index), el("mark", { text: m[0] }));
    done = m.index + m[0].length;
  }
  return [...parts, shown.slice(done)];
}
