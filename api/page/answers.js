// Lists and searches stored answers; each can be marked as wrong for a question, or deleted.
import { call, get } from "./api.js";
import { ask } from "./dialogs.js";
import { $, el, fill, show, tell, worker } from "./dom.js";
import * as gate from "./gate.js";
import { at, here } from "./here.js";
import { calm, hear } from "./live.js";
import { count, moment, origins, plural } from "./words.js";
import { wording } from "./wrong.js";

let all = [];
let next = "";
let shown = 100;

export function begin(page) {
  hear(["answer", "job", "forgotten", "settings"], page.refresh);
  const look = calm(refresh, 250);
  $("answers-find").addEventListener("input", look);
  $("answers-all").addEventListener("change", draw);
  $("answers-form").addEventListener("submit", (e) => { e.preventDefault(); look(); });
  $("answers-more").addEventListener("click", async () => {
    shown += 100;
    if (shown > all.length && next) await load(next).catch(wrong);
    draw();
  });
}

export function reset() {
  all = [];
  next = "";
  shown = 100;
  $("answers-find").value = "";
  $("answers-wrong").textContent = "";
  fill($("answers-list"));
  gate.reset();
}

const wrong = (e) => { $("answers-wrong").textContent = wording(e); };

export async function refresh() {
  if (!here.space) return void ($("answers-count").textContent = "There is no space yet.");
  const space = here.space;
  const find = $("answers-find").value.trim();
  try {
    const path = find ? `${at("entries", "search")}?limit=30&q=${encodeURIComponent(find)}` : `${at("entries")}?limit=1000`;
    const [page] = await Promise.all([get(path), gate.refresh()]);
    if (space !== here.space || find !== $("answers-find").value.trim()) return;
    $("answers-wrong").textContent = "";
    all = page.entries;
    next = page.next ?? "";
    if (page.bank) $("answers-count").textContent = [plural(page.bank.answered, "answer"), `given again ${plural(page.bank.hits, "time")}`,
      page.bank.stale ? `${count(page.bank.stale)} to be checked` : "", page.bank.vetoes ? `${count(page.bank.vetoes)} marked as wrong` : ""].filter(Boolean).join(" · ");
    else $("answers-count").textContent = `${plural(all.length, "question")}, the nearest first`;
    draw();
  } catch (e) {
    wrong(e);
  }
}

async function load(after) {
  const page = await get(`${at("entries")}?limit=1000&after=${encodeURIComponent(after)}`);
  all.push(...page.entries);
  next = page.next ?? "";
}

const used = (e) => Date.parse(e.used ?? e.made) || 0;

// unasked are predicted questions that nobody has asked so far.
const unasked = (e) => e.origin !== "asked" && (!e.answered || (e.origin === "predicted" && e.hits === 0));

function draw() {
  const found = all.some((e) => e.similarity !== undefined);
  const away = all.filter(unasked).length;
  const some = $("answers-all").checked ? all : all.filter((e) => !unasked(e));
  const rows = found ? some : [...some].sort((a, b) => b.hits - a.hits || used(b) - used(a));
  $("answers-predicted").textContent = `Show expected questions (${count(away)}${next ? " or more" : ""})`;
  show($("answers-switch"), away > 0);
  const list = rows.slice(0, shown).map(row);
  if (list.length === 0) list.push(el("li", { class: "soft calm", text: away > 0 ? "No question that you asked has an answer here yet." : "Nothing yet. Answers to your questions appear here, so that the same question is answered at once." }));
  fill($("answers-list"), list);
  show($("answers-more"), rows.length > shown || next !== "");
}

function row(e) {
  const tags = [
    e.stale ? ["stale", e.stale_why ? `to be checked: ${e.stale_why}` : "to be checked"] : null,
    e.answered ? null : ["", "no answer yet"],
    e.refused ? ["unknown", "does not know"] : null,
    e.origin === "asked" ? null : ["", origins[e.origin] ?? e.origin],
    e.similarity !== undefined ? ["", `${Math.round(100 * e.similarity)} % alike`] : null,
  ].filter(Boolean);
  return el("li", { class: "entry", "data-entry": e.id },
    el("div", {},
      el("p", { class: "q", text: e.question }),
      e.answered ? el("p", { class: e.refused ? "a soft" : "a", text: e.answer }) : null,
      el("p", { class: "row tight soft small" }, tags.map(([kind, text]) => el("span", { class: `tag ${kind}`, text })),
        `given again ${plural(e.hits, "time")} · from ${moment(e.made)}`)),
    here.may.write ? el("div", { class: "row tight" },
      e.answered ? worker("Wrong", () => veto(e), wrong, { class: "outline", "aria-label": `Wrong answer to ${e.question}` }) : null,
      worker("Delete", () => remove(e), wrong, { class: "outline", "aria-label": `Delete the answer to ${e.question}` })) : null);
}

async function veto(e) {
  const asked = await ask({
    title: "For which question was the answer wrong?",
    text: `“${e.answer}” is then never given to that question again.`,
    yes: "Wrong answer", field: "Question", value: e.question,
  });
  if (!asked) return;
  await call("POST", at("entries", e.id, "veto"), { body: { asked } });
  tell("Noted.");
  await refresh();
}

async function remove(e) {
  const sure = await ask({ title: "Delete this answer?", text: `“${e.question}” is then answered anew when it is asked.`, yes: "Delete", grave: true });
  if (!sure) return;
  await call("DELETE", at("entries", e.id));
  tell("Deleted.");
  await refresh();
}
