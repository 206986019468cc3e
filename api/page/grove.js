// Draws the tensor tree. A question highlights the path of its prompt: reused slices in one colour,
// new ones in another.
import { get } from "./api.js";
import { $, el, fill, svg } from "./dom.js";
import { grow, path } from "./growth.js";
import { at, here } from "./here.js";
import { known, titleOf } from "./titles.js";
import { bytes, count, plural } from "./words.js";

const most = 1000; // maximum of drawn slices

const none = () => ({ tree: null, first: new Map(), lit: null, chosen: null, timer: 0, picture: new Map() });

const state = none(); // first: when the page first saw a chunk

export function begin() {
  const box = $("tree");
  box.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!step || !state.tree?.nodes.length) return;
    e.preventDefault();
    const all = state.tree.nodes;
    choose(all[(all.indexOf(state.chosen) + step + all.length) % all.length]);
  });
  box.addEventListener("focus", () => { if (!state.chosen && state.tree?.nodes.length) choose(state.tree.nodes[0]); });
  for (const type of ["pointermove", "click"]) box.addEventListener(type, point);
}

// point selects the node nearest to the pointer, because dots may be tiny.
function point(e) {
  const picture = $("tree").querySelector("svg");
  if (!picture) return;
  const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(picture.getScreenCTM().inverse());
  let best = null;
  let away = 1.5;
  for (const n of state.tree.nodes) {
    const d = Math.hypot(n.x - p.x, n.y - p.y);
    if (d < away) [best, away] = [n, d];
  }
  if (best && best !== state.chosen) choose(best);
}

export function reset() {
  Object.assign(state, none());
  fill($("tree"));
  $("tree-node").textContent = "";
  $("tree-count").textContent = "";
}

/** Remembers which slices an answer used, until the next one. */
export function light({ outcome, ms: took, chunks = [], chunks_stored: stored, chunks_all: all }) {
  const begun = performance.now() - took - 50; // slices seen later may belong to the answer
  const reused = new Set(chunks.filter((c) => outcome === "answer_hit" || stored === all || (stored > 0 && state.first.get(c) < begun)));
  state.lit = { outcome, chunks, reused };
  draw();
}

export async function refresh() {
  if (!here.space) return reset();
  const space = here.space;
  const [tree, cache] = await Promise.all([get(`${at("cache", "tree")}?limit=${most}`), get(at("cache"))]);
  if (space !== here.space) return;
  state.tree = grow(tree.slices);
  const chosen = state.chosen?.path;
  state.chosen = state.tree.nodes.find((n) => n.path === chosen) ?? null;
  const hidden = Math.max(0, cache.slices - tree.slices.length);
  $("tree-count").textContent = [plural(cache.slices, "passage"), bytes(cache.bytes), hidden ? `${count(hidden)} not shown` : ""].filter(Boolean).join(" · ");
  draw();
  const now = performance.now();
  state.first = new Map(tree.slices.map((s) => [s.chunk, state.first.get(s.chunk) ?? now]));
}

function draw() {
  const { tree, lit } = state;
  if (!tree) return;
  const nodes = tree.nodes;
  const way = lit ? path(tree, lit.chunks) : new Set();
  const kind = (n) => (!way.has(n) ? "" : n.chunk === null || lit.reused.has(n.chunk) ? " reused" : " fresh");
  if (nodes.length === 0) {
    $("tree-node").textContent = "";
    fill($("tree"), el("p", { class: "soft calm", text: "Nothing yet. Passages that the model reads for an answer appear here." }));
    legend(false);
    return;
  }
  const far = Math.max(2.6, ...nodes.map((n) => Math.hypot(n.x, n.y)));
  const dense = way.size > 0 && nodes.length > 100; // otherwise the path would be hard to see
  const bold = dense ? 0.042 * far : 0; // minimum radius of highlighted nodes
  const reach = far + Math.max(0.7, bold + 0.15);
  const tokens = Math.max(...nodes.map((n) => n.tokens));
  const hits = Math.log1p(Math.max(...nodes.map((n) => n.hits), 1));
  state.picture = new Map(nodes.map((n) => {
    const own = n.chunk === null ? 0.5 : Math.max(0.16, 0.46 * Math.sqrt(n.tokens / tokens));
    const r = way.has(n) ? Math.max(own, bold) : dense ? 0.72 * own : own;
    const heat = Math.ceil((4 * Math.log1p(n.hits)) / hits);
    return [n, svg("circle", { class: `leaf heat${heat}${kind(n)}`, cx: n.x.toFixed(2), cy: n.y.toFixed(2), r: r.toFixed(2) })];
  }));
  const fog = nodes.length > 300; // draw all branches as one path
  const branches = nodes.filter((n) => n.parent.depth >= 0 && (!fog || way.has(n))).map((n) => [n, svg("line", {
    class: `branch${kind(n)}`, x1: n.parent.x.toFixed(2), y1: n.parent.y.toFixed(2), x2: n.x.toFixed(2), y2: n.y.toFixed(2),
  })]);
  const last = (a, b) => way.has(a[0]) - way.has(b[0]); // highlighted nodes on top
  const words = `${plural(nodes.length, "passage")}; ${way.size} for the last question`;
  const picture = svg("svg", { class: dense ? "dense" : null, viewBox: `${-reach} ${-reach} ${2 * reach} ${2 * reach}`, role: "img", "aria-labelledby": "tree-words" },
    svg("title", { id: "tree-words", text: `What the model has read: ${words}` }),
    branches.sort(last).map((b) => b[1]),
    [...state.picture].sort(last).map((p) => p[1]));
  picture.style.setProperty("--spoke", Math.max(0.13, 0.016 * far));
  fill($("tree"), picture);
  $("tree").dataset.lit = way.size;
  legend(way.size > 0);
  if (state.chosen) state.picture.get(state.chosen).classList.add("chosen");
  else $("tree-node").textContent = "Each dot is a part of your documents that the model need not read again. Point at one to see which.";
}

function legend(lit) {
  const items = [["heat0", "not used yet"], ["heat4", "used most"]];
  if (lit) items.push(["reused", state.lit.outcome === "answer_hit" ? "in the last answer" : "read before the last question"]);
  if (lit && state.lit.reused.size < state.lit.chunks.length) items.push(["fresh", "read for the last question"]);
  fill($("tree-legend"), items.map(([name, text]) => el("li", {}, el("span", { class: `dot ${name}`, "aria-hidden": "true" }), text)));
}

function choose(n) {
  state.picture.get(state.chosen)?.classList.remove("chosen");
  state.chosen = n;
  state.picture.get(n).classList.add("chosen");
  clearTimeout(state.timer);
  const about = [plural(n.tokens, "token"), bytes(n.bytes), `used ${plural(n.hits, "time")}`].join(" · ");
  const say = (title) => { if (state.chosen?.path === n.path) fill($("tree-node"), el("strong", { text: title }), el("br"), el("span", { class: "soft", text: about })); };
  if (n.chunk === null) return say("Instructions, with which each prompt begins");
  say(known(here.space, n.chunk) ?? "A passage");
  // Wait, so that passing over a dot starts no search.
  state.timer = setTimeout(() => titleOf(here.space, n.chunk).then(say, () => {}), 150); // without a title, the label stays "A passage"
}
