// The passages that an answer rests on.
import { read } from "./dialogs.js";
import { el } from "./dom.js";
import { forgetDocument } from "./forgetting.js";
import { here } from "./here.js";
import { plural } from "./words.js";

/** Draws passages; those of one document share a card. */
export function drawSources(citations) {
  if (citations.length === 0) return null;
  const documents = new Map();
  for (const c of citations) documents.set(c.document, [...documents.get(c.document) ?? [], c]);
  return el("section", { "aria-label": "Sources" },
    el("h3", { text: "From your documents" }),
    el("ul", { class: "cards" }, [...documents.values()].map((some) => el("li", {}, some.length === 1 ? passage(some[0]) : several(some)))));
}

/** Draws one passage, which opens its document. quote replaces the text. */
export const passage = (c, quote = c.quote.replace(/\s+/g, " "), whole = true) => el("button", {
  type: "button", class: "citation", onclick: () => read(here.space, c.document, c.chunk, here.may.write ? forgetDocument : null),
}, whole ? el("span", { class: "about", text: c.about }) : null, el("span", { class: "quote" }, quote));

const several = (some) => el("div", { class: "cited-chunks" },
  el("p", { class: "row between" }, el("span", { class: "about", text: some[0].about }), el("span", { class: "tag", text: plural(some.length, "passage") })),
  some.map((c) => passage(c, undefined, false)));
