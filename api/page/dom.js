// Builds the page's elements. Text always becomes text nodes, so documents, questions and answers
// are never parsed as HTML.
import { wording } from "./wrong.js";

const svgSpace = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** Creates an element. props are attributes; on... are listeners; class and text set those. */
export const el = (tag, props = {}, ...children) => build(document.createElement(tag), props, children);

/** Creates an SVG element. */
export const svg = (tag, props = {}, ...children) => build(document.createElementNS(svgSpace, tag), props, children);

function build(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

// A click is lost if its button is replaced while it is pressed. So a node with a pressed button is
// filled after the release.
let pressed = null;
const later = new Map(); // pending children by node

addEventListener("pointerdown", (e) => { pressed = e.target.closest("button, summary, a"); }, true);
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, loose, true);
addEventListener("pointermove", (e) => { if (e.buttons === 0) loose(); }, true); // released outside of the window

function loose() {
  if (!pressed) return;
  pressed = null;
  setTimeout(() => { // after the click
    for (const [node, children] of [...later]) fill(node, ...children);
  });
}

const called = (b) => b.id || b.getAttribute("aria-label") || b.textContent;

/** Replaces the children of a node and keeps the keyboard focus. */
export const fill = (node, ...children) => {
  later.delete(node);
  if (node.contains(pressed)) {
    later.set(node, children);
    return node;
  }
  const at = document.activeElement;
  const name = at !== node && node.contains(at) ? called(at) : "";
  node.replaceChildren(...children.flat(3).filter((c) => c !== null && c !== undefined && c !== false));
  const [again, ...others] = name ? [...node.querySelectorAll("button, summary, a")].filter((b) => called(b) === name) : [];
  if (others.length === 0) again?.focus({ preventScroll: true });
  return node;
};

/** Shows or hides a node. */
export const show = (node, yes = true) => { node.hidden = !yes; };

/** Announces a text to screen readers. */
export const tell = (text) => { $("told").textContent = text; };

/** Creates a button. */
export const button = (text, onclick, props = {}) => el("button", { type: "button", ...props, onclick, text });

/** Creates a button that is disabled while its work runs; wrong shows an error. */
export function worker(text, work, wrong, props = {}) {
  const b = button(text, async () => {
    if (b.hasAttribute("aria-disabled")) return;
    b.setAttribute("aria-disabled", "true"); // disabled would lose the focus
    try {
      await work();
    } catch (e) {
      wrong(e);
    } finally {
      b.removeAttribute("aria-disabled");
    }
  }, props);
  return b;
}

/** Creates a section with a heading. */
export const part = (title, ...children) => el("section", { class: "card stack tight", "aria-label": title }, el("h2", { text: title }), children);

/** Creates a labelled number. */
export const number = (what, value, about) => el("div", { class: "number" },
  el("dt", { text: what }), el("dd", {}, el("strong", { text: value }), about ? el("span", { class: "soft small", text: about }) : null));

/** Creates a line with an error. */
export const wrongLine = (e) => el("p", { class: "wrong", role: "alert", text: wording(e) });
