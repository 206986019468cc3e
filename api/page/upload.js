// Adds chosen or dropped files and folders. The daemon's events report their progress.
import { call, get } from "./api.js";
import { $, button, el, fill, wrongLine } from "./dom.js";
import { dropped } from "./drop.js";
import { at } from "./here.js";
import { hear } from "./live.js";
import { bytes, count, plural } from "./words.js";

const watched = new Map(); // id of an upload: its path, its files, their names in words, and the element that shows it
const listed = 200; // files that are listed at most

export function begin() {
  for (const [pick, input] of [["pick-files", "files"], ["pick-folder", "folder"]]) {
    $(pick).addEventListener("click", () => $(input).click());
    $(input).addEventListener("change", () => {
      add([...$(input).files].map((f) => ({ file: f, name: f.webkitRelativePath || f.name })));
      $(input).value = "";
    });
  }
  const drop = $("drop");
  const mark = (yes) => (e) => { e.preventDefault(); drop.classList.toggle("over", yes); };
  drop.addEventListener("dragover", mark(true));
  drop.addEventListener("dragleave", mark(false));
  drop.addEventListener("drop", async (e) => {
    mark(false)(e);
    add(await dropped(e.dataTransfer));
  });
  // A file dropped beside the field would replace the page.
  for (const type of ["dragover", "drop"]) addEventListener(type, (e) => e.preventDefault());
  hear(["upload"], (e) => { if (watched.has(e.data?.id)) look(e.data.id); });
  hear(["open", "lost"], () => { for (const id of watched.keys()) look(id); });
  setInterval(() => { for (const id of watched.keys()) look(id); }, 15000); // in case events are lost
}

export function reset() {
  watched.clear();
  fill($("uploads"));
}

// again also adds documents that the user deleted before.
async function add(files, again = false) {
  if (files.length === 0) return;
  const size = files.reduce((sum, f) => sum + f.file.size, 0);
  const item = el("li", { class: "card upload" });
  $("uploads").prepend(item);
  const names = files.length === 1 ? files[0].name : plural(files.length, "file");
  draw(item, names, `Sending ${bytes(size)}`, null);
  const form = new FormData();
  for (const f of files) form.append("files", f.file, f.name);
  try {
    const path = at("uploads");
    const status = await call("POST", `${at("documents")}${again ? "?again=true" : ""}`, { form });
    watched.set(status.id, { path: `${path}/${encodeURIComponent(status.id)}`, item, names, files });
    await look(status.id);
  } catch (e) {
    fill(item, el("strong", { text: names }), wrongLine(e));
  }
}

const ended = new Set(["done", "failed"]);
const words = { queued: "Stored; waiting", running: "Reading", done: "Done", failed: "Failed" };

async function look(id) {
  const { path, item, names, files } = watched.get(id);
  let s;
  try {
    s = await get(path);
  } catch {
    return; // the next event tries again
  }
  if (!watched.has(id)) return; // an earlier response reported the end
  draw(item, names, words[s.state] ?? s.state, s, files);
  if (ended.has(s.state)) watched.delete(id);
}

function draw(item, names, state, s, files = []) {
  item.dataset.state = s?.state ?? "sending";
  const done = s && ended.has(s.state);
  const counts = s ? [["added", s.added], ["replaced", s.replaced], ["unchanged", s.unchanged], ["failed", s.failed]]
    .filter(([, n]) => n > 0).map(([what, n]) => `${count(n)} ${what}`) : [];
  if (s?.chunks) counts.push(plural(s.chunks, "new passage"));
  const open = item.querySelector("details")?.open;
  fill(item,
    el("div", { class: "row between" }, el("strong", { text: names }), el("span", { class: s?.state === "failed" ? "wrong" : "soft", text: state })),
    done ? null : el("progress", { "aria-label": `${names}: ${state}` }),
    counts.length > 0 ? el("p", { class: "soft small", text: counts.join(" · ") }) : null,
    s?.error ? el("p", { class: "wrong", text: s.error }) : null,
    done && s.deleted_before > 0 ? el("p", { class: "row tight" }, `${plural(s.deleted_before, "document")} left out, because you deleted ${s.deleted_before === 1 ? "it" : "them"} before.`,
      button("Add anyway", () => add(files, true), { class: "outline" })) : null,
    s?.state === "done" ? results(files.map((f) => f.name), s, open) : null);
}

// results says what became of each file. Files with a fault come first. A file of which a deleted
// document was left out is not called added.
function results(sent, { failures, left_out: leftOut, deleted_before: deleted }, open) {
  const faults = failures.map((f) => el("li", { class: "wrong" }, sign("✕", "not added: "), `${f.name}: ${f.reason}`));
  const parts = leftOut.map((f) => el("li", {}, sign("!", "left out: "), `${f.name}: ${f.reason}`));
  const bad = new Set([...failures, ...(deleted > 0 ? leftOut : [])].map((f) => f.name));
  const good = sent.filter((name) => !bad.has(name) && ![...bad].some((b) => b.startsWith(name)));
  const all = [...faults, ...parts, ...good.map((name) => el("li", {}, sign("✓", "added: "), name))];
  return el("details", { open: open ?? (faults.length + parts.length > 0 || sent.length < 10) },
    el("summary", { text: sent.length === 1 ? "The file" : "Each file" }),
    el("ul", { class: "plain results small" }, all.slice(0, listed), all.length > listed ? el("li", { class: "soft", text: `${count(all.length - listed)} more are not shown.` }) : null));
}

const sign = (mark, meaning) => [el("span", { "aria-hidden": "true", text: `${mark} ` }), el("span", { class: "unseen", text: meaning })];
