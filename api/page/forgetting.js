// Deletes a document and shows the receipt: the counts of each layer, and whether the bytes are gone.
import { call, get } from "./api.js";
import { ask } from "./dialogs.js";
import { $, el, fill, tell, wrongLine } from "./dom.js";
import { at } from "./here.js";
import { bytes, count } from "./words.js";

/** Deletes a document after confirmation. Returns whether it did. */
export async function forgetDocument(d) {
  const sure = await ask({
    title: "Forget this document?",
    text: `percached deletes “${d.title || "Untitled"}” and everything made from it: its passages, the answers that rest on it, and what the model read of it. Later uploads leave it out until its text changes. You cannot undo this.`,
    yes: "Forget it", grave: true,
  });
  if (!sure) return false;
  location.hash = "#/documents";
  fill($("receipt"), el("p", { class: "note", text: "Deleting the document ..." }));
  try {
    const state = at("deletions");
    const receipt = await call("DELETE", at("documents", d.id));
    fill($("receipt"), drawReceipt(d, receipt, state));
    tell("The document is forgotten.");
  } catch (e) {
    fill($("receipt"), wrongLine(e));
    return false;
  }
  return true;
}

function drawReceipt(d, r, state) {
  const rows = [
    ["documents", r.documents], ["passages", r.chunks], ["passages in the search", r.indexed + r.vectors],
    ["passages the model had read", r.slices, r.slice_bytes ? bytes(r.slice_bytes) : ""], ["answers", r.entries], ["asked questions", r.history],
    ["summaries", r.summaries], ["expected questions", r.predictions], ["messages of conversations", r.turns],
  ];
  return el("section", { class: "card receipt", "aria-labelledby": "receipt-title" },
    el("h2", { id: "receipt-title", text: "Forgotten" }),
    el("p", { text: d.title || "Untitled" }),
    el("dl", {}, rows.map(([what, n, more]) => el("div", {}, el("dt", { text: what }), el("dd", { text: [count(n), more].filter(Boolean).join(", ") })))),
    bytesLine(r.bytes, state));
}

const gone = "No file of the data folder contains any of it.";

// bytesLine says whether the bytes are on the disk, and asks at state until they are gone.
function bytesLine(now, state) {
  const line = el("p", { class: "soft small", role: "status", text: now === "gone" ? gone : "It is out of all answers. percached removes its bytes from the disk within seconds, or when a waiting upload ends." });
  if (now !== "gone") setTimeout(() => look(line, state), 1000);
  return line;
}

async function look(line, state) {
  if (!line.isConnected) return; // another receipt, or another space
  try {
    if ((await get(state)).bytes === "gone") return void (line.textContent = gone);
  } catch (e) {
    if (e.status >= 400 && e.status < 500 && e.status !== 429) return; // for example, the space was deleted
  }
  setTimeout(() => look(line, state), 2000);
}
