// The documents of a space: add, list, open, delete.
import { get } from "./api.js";
import { read } from "./dialogs.js";
import { $, button, el, fill, show, wrongLine } from "./dom.js";
import { forgetDocument } from "./forgetting.js";
import { at, here } from "./here.js";
import { calm, hear } from "./live.js";
import * as passages from "./search.js";
import * as upload from "./upload.js";
import { count, day, plural } from "./words.js";

const step = 100; // rows drawn at a time
const few = 5000; // up to this number the page sorts documents itself

let all = [];
let next = "";
let total = 0;
let shown = step;
let turn = 0; // results of earlier requests are not drawn

export function begin(page) {
  upload.begin();
  hear(["upload", "forgotten"], page.refresh);
  const look = calm(() => { shown = step; refresh(); }, 250);
  $("documents-find").addEventListener("input", look);
  $("documents-more").addEventListener("click", async () => {
    shown += step;
    try {
      if (shown > all.length && next) await more(wanted(), turn);
      draw();
    } catch (e) {
      wrong(e);
    }
  });
}

export function reset() {
  turn++;
  all = [];
  next = "";
  total = 0;
  shown = step;
  $("documents-find").value = "";
  for (const id of ["receipt", "documents-list"]) fill($(id));
  upload.reset();
  passages.reset();
}

const wanted = () => $("documents-find").value.trim();

export async function refresh() {
  show($("drop"), here.may.write && here.space !== "");
  if (!here.space) return void ($("documents-count").textContent = "There is no space yet.");
  const mine = ++turn;
  const find = wanted();
  passages.search(find);
  try {
    const page = await part(find, "");
    if (mine !== turn) return;
    [all, next, total] = [page.documents, page.next ?? "", page.total];
    while (next && total <= few && mine === turn) await more(find, mine);
    while (next && all.length < shown && mine === turn) await more(find, mine);
    if (mine === turn) draw();
  } catch (e) {
    if (mine === turn) wrong(e);
  }
}

const part = (find, after) => get(`${at("documents")}?limit=1000${find && `&find=${encodeURIComponent(find)}`}${after && `&after=${encodeURIComponent(after)}`}`);

async function more(find, mine) {
  const page = await part(find, next);
  if (mine !== turn) return;
  all.push(...page.documents);
  [next, total] = [page.next ?? "", page.total];
}

const wrong = (e) => fill($("documents-list"), el("li", {}, wrongLine(e)));

const stamp = (d) => Date.parse(d.date ?? d.added) || 0;

function draw() {
  const rows = next ? all : [...all].sort((a, b) => stamp(b) - stamp(a));
  const found = wanted() ? `${count(all.length)}${next ? " or more" : ""} with this in the title or source, of ` : "";
  const order = rows.length < 2 ? "" : next ? ", in no order" : ", newest first";
  $("documents-count").textContent = `${found}${plural(total, "document")}${order}`;
  fill($("documents-list"), rows.slice(0, shown).map(row));
  show($("documents-more"), rows.length > shown || next !== "");
}

function row(d) {
  const title = d.title || "Untitled";
  return el("li", { class: "doc" },
    el("div", {},
      button(title, () => read(here.space, d.id, "", here.may.write ? forgetDocument : null), { class: "link" }),
      el("p", { class: "soft small", text: [d.source, d.path, d.chunks > 1 ? plural(d.chunks, "passage") : ""].filter(Boolean).join(" · ") })),
    el("span", { class: "soft small when", text: day(d.date) }),
    here.may.write ? button("Forget", () => forgetDocument(d), { class: "outline", "aria-label": `Forget ${title}` }) : null);
}
