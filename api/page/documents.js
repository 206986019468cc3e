// The documents of a space: adding, listing, opening, forgetting.
import { get } from "./api.js";
import { read } from "./dialogs.js";
import { $, button, el, fill, show, wrongLine } from "./dom.js";
import { forgetDocument } from "./forgetting.js";
import { at, here } from "./here.js";
import { hear } from "./live.js";
import * as upload from "./upload.js";
import { count, day, plural } from "./words.js";

const step = 100; // rows that are drawn at once

let all = [];
let next = "";
let shown = step;

export function begin(page) {
  upload.begin();
  hear(["upload", "forgotten"], page.refresh);
  $("documents-find").addEventListener("input", () => { shown = step; draw(); });
  $("documents-more").addEventListener("click", async () => {
    shown += step;
    if (shown > all.length && next) await more(next).catch(wrong);
    draw();
  });
}

export function reset() {
  all = [];
  next = "";
  shown = step;
  $("documents-find").value = "";
  for (const id of ["receipt", "documents-list"]) fill($(id));
  upload.reset();
}

export async function refresh() {
  show($("drop"), here.may.write && here.space !== "");
  if (!here.space) return void ($("documents-count").textContent = "There is no space yet.");
  const space = here.space;
  try {
    const page = await get(`${at("documents")}?limit=1000`);
    if (space !== here.space) return;
    all = page.documents;
    next = page.next ?? "";
    draw();
  } catch (e) {
    wrong(e);
  }
}

async function more(after) {
  const page = await get(`${at("documents")}?limit=1000&after=${encodeURIComponent(after)}`);
  all.push(...page.documents);
  next = page.next ?? "";
}

const wrong = (e) => fill($("documents-list"), el("li", {}, wrongLine(e)));

const stamp = (d) => Date.parse(d.date ?? d.added) || 0;

function draw() {
  const find = $("documents-find").value.trim().toLowerCase();
  const fits = (d) => `${d.title} ${d.source} ${d.path ?? ""}`.toLowerCase().includes(find);
  const rows = all.filter((d) => !find || fits(d)).sort((a, b) => stamp(b) - stamp(a));
  $("documents-count").textContent = `${find ? `${count(rows.length)} of ` : ""}${plural(all.length, "document")}${next ? ", and more" : ""}`;
  fill($("documents-list"), rows.slice(0, shown).map(row));
  show($("documents-more"), rows.length > shown || (next !== "" && !find));
}

function row(d) {
  const title = d.title || "Without a title";
  return el("li", { class: "doc" },
    el("div", {},
      button(title, () => read(here.space, d.id, "", here.may.write ? forgetDocument : null), { class: "link" }),
      el("p", { class: "soft small", text: [d.source, d.path, plural(d.chunks, "chunk")].filter(Boolean).join(" · ") })),
    el("span", { class: "soft small when", text: day(d.date) }),
    here.may.write ? button("Forget", () => forgetDocument(d), { class: "quiet", "aria-label": `Forget ${title}` }) : null);
}
