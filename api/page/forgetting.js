// Deletes a document and shows the receipt: the counts of each layer.
import { call } from "./api.js";
import { ask } from "./dialogs.js";
import { $, el, fill, tell, wrongLine } from "./dom.js";
import { at } from "./here.js";
import { bytes, count } from "./words.js";

/** Deletes a document after confirmation. Returns whether it did. */
export async function forgetDocument(d) {
  const sure = await ask({
    title: "Forget this document?",
    text: `“${d.title || "Untitled"}” goes, and with it all that was made from it: its passages, the answers that rest on it, what the model read of it. It cannot be undone.`,
    yes: "Forget it", grave: true,
  });
  if (!sure) return false;
  location.hash = "#/documents";
  fill($("receipt"), el("p", { class: "note", text: "Deleting the document ..." }));
  try {
    const receipt = await call("DELETE", at("documents", d.id));
    fill($("receipt"), drawReceipt(d, receipt));
    tell("The document is forgotten.");
  } catch (e) {
    fill($("receipt"), wrongLine(e));
    return false;
  }
  return true;
}

function drawReceipt(d, r) {
  const rows = [
    ["documents", r.documents], ["passages", r.chunks], ["passages in the search", r.indexed + r.vectors],
    ["passages the model had read", r.slices, r.slice_bytes ? bytes(r.slice_bytes) : ""], ["answers", r.entries], ["asked questions", r.history],
    ["summaries", r.summaries], ["expected questions", r.predictions], ["turns of conversations", r.turns],
  ];
  return el("section", { class: "card receipt", "aria-labelledby": "receipt-title" },
    el("h2", { id: "receipt-title", text: "Forgotten" }),
    el("p", { text: d.title || "Untitled" }),
    el("dl", {}, rows.map(([what, n, more]) => el("div", {}, el("dt", { text: what }), el("dd", { text: [count(n), more].filter(Boolean).join(", ") })))),
    el("p", { class: "soft small", text: r.cleaned_up ? "No file of the data folder contains any of it." : "It is out of all answers. Its bytes leave the disk within seconds, or when a waiting upload ends." }));
}
