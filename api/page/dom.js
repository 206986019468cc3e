// Builds the page's elements. Text becomes text nodes and nothing else: what stands
// in documents, questions and answers is never read as HTML.
import { wording } from "./wrong.js";

const svgSpace = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** Makes an element: props are attributes, on... are listeners, class and text as named. */
export const el = (tag, props = {}, ...children) => build(document.createElement(tag), props, children);

/** The same for SVG. */
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

// A click is lost where its button goes before it is let go: what holds one that is
// pressed is filled when it is not any more.
let pressed = null;
const later = new Map(); // children, by the node that they are for

addEventListener("pointerdown", (e) => { pressed = e.target.closest("button, summary, a"); }, true);
for (const name of ["pointerup", "pointercancel"]) addEventListener(name, loose, true);
addEventListener("pointermove", (e) => { if (e.buttons === 0) loose(); }, true); // let go outside

function loose() {
  if (!pressed) return;
  pressed = null;
  setTimeout(() => { // behind the click
    for (const [node, children] of [...later]) fill(node, ...children);
  });
}

const called = (b) => b.id || b.getAttribute("aria-label") || b.textContent;

/** Puts children in place of what a node holds. Who was at a button is at it again. */
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

/** Shows or hides. */
export const show = (node, yes = true) => { node.hidden = !yes; };

/** Tells those who do not see the page. */
export const tell = (text) => { $("told").textContent = text; };

/** A button. */
export const button = (text, onclick, props = {}) => el("button", { type: "button", ...props, onclick, text });

/** A button that is off while its work lasts; what fails is told by wrong. */
export function worker(text, work, wrong, props = {}) {
  const b = button(text, async () => {
    if (b.hasAttribute("aria-disabled")) return;
    b.setAttribute("aria-disabled", "true"); // disabled would send away who is at it
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

/** A part of a view under a heading. */
export const part = (title, ...children) => el("section", { class: "card stack tight", "aria-label": title }, el("h2", { text: title }), children);

/** A cell of numbers: what, how much. */
export const number = (what, value, about) => el("div", { class: "number" },
  el("dt", { text: what }), el("dd", {}, el("strong", { text: value }), about ? el("span", { class: "soft small", text: about }) : null));

/** What went wrong, in a line. */
export const wrongLine = (e) => el("p", { class: "wrong", role: "alert", text: wording(e) });
