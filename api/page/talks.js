// Conversations: the open one with its earlier questions, and the list of all. Each question of the
// main field begins one, so that it can get a stored answer; a follow-up question continues it.
import { call, get } from "./api.js";
import { ask } from "./dialogs.js";
import { $, button, el, fill, show, tell, worker, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { moment } from "./words.js";

const few = 8; // conversations that are listed at first

let id = ""; // of the open conversation; "": the next question begins one
let said = []; // its earlier questions and answers, the newest first
let all = false; // whether all conversations are listed
let changed = () => {}; // draws the view anew

/** Sets what is called when another conversation is opened. */
export function begin(onChange) {
  changed = onChange;
}

export function reset() {
  all = false;
  open("", []);
}

function open(other, exchanges) {
  [id, said] = [other, exchanges];
  draw();
  changed();
}

/** Closes the conversation: the next question begins one. */
export function close() {
  [id, said] = ["", []];
  draw();
}

/** Returns whether a conversation is open. */
export const isOpen = () => id !== "";

/** Returns whether no question precedes that on the page. */
export const isFirst = () => said.length === 0;

/** Returns the id of the open conversation, or of a new one that begins with this question. */
export async function enter(question, signal) {
  if (id) return id;
  const space = here.space;
  try {
    const made = await call("POST", at("conversations"), { body: { title: cut(question) }, signal });
    if (space === here.space) id = made.id;
  } catch (e) {
    if (e.status !== 409) throw e; // the space has as many as it may: the question is asked alone
  }
  return id;
}

/** Deletes a conversation whose first question has no answer. */
export async function abandon(empty) {
  if (!empty) return;
  if (id === empty) close();
  await call("DELETE", at("conversations", empty)).catch(() => {}); // it stays, without a turn, and is not listed
}

/** Adds the exchange that the next question follows. */
export function keep(question, answer) {
  said.unshift({ question, answer });
  draw();
}

// cut shortens a title to what the API stores: 200 bytes.
function cut(text) {
  const letters = [...text].slice(0, 190);
  while (new TextEncoder().encode(letters.join("")).length > 190) letters.pop();
  return letters.join("") + (letters.join("") === text ? "" : "…");
}

function draw() {
  show($("talk"), said.length > 0);
  fill($("talk-list"), said.map((s) => el("li", {}, el("p", { class: "soft", text: s.question }), el("p", { text: s.answer }))));
}

/** Draws the list of conversations. */
export async function refresh() {
  show($("talks"), here.space !== "");
  if (!here.space) return;
  const space = here.space;
  const { conversations } = await get(`${at("conversations")}?limit=1000`);
  if (space !== here.space) return;
  const titles = new Set(); // a question that was asked again is listed once
  const some = conversations.filter((c) => c.count > 2 || (c.count > 0 && !titles.has(c.title) && titles.add(c.title)));
  const shown = all ? some : some.slice(0, few);
  fill($("talks-list"),
    some.length === 0 ? el("li", { class: "soft small", text: "None yet. Each question begins one, and you can follow up." }) : null,
    shown.map(row),
    shown.length < some.length ? el("li", {}, button("Show all", () => { all = true; refresh(); }, { class: "outline" })) : null);
}

const wrong = (e) => fill($("talks-wrong"), wrongLine(e));

function row(c) {
  const title = c.title || "Without a title";
  return el("li", {},
    worker(title, () => read(c.id).then(() => $("question").focus()), wrong, { class: "link", "aria-current": c.id === id ? "true" : null }),
    el("span", { class: "soft small when", text: moment(c.used) }),
    worker("Delete", () => remove(c), wrong, { class: "outline", "aria-label": `Delete the conversation ${title}` }));
}

async function read(other) {
  const { turns = [] } = await get(`${at("conversations", other)}?limit=200`);
  const exchanges = [];
  for (const t of turns) {
    if (t.role === "user") exchanges.unshift({ question: t.text, answer: "" });
    else if (exchanges.length > 0) exchanges[0].answer = t.text;
  }
  fill($("talks-wrong"));
  open(other, exchanges);
}

/** Reads the open conversation again: turns that rest on a forgotten document are gone. */
export async function reread() {
  if (id) await read(id).catch(() => open("", []));
}

async function remove(c) {
  const sure = await ask({ title: "Delete this conversation?", text: `percached deletes “${c.title}” with its questions and answers. Your documents stay.`, yes: "Delete", grave: true });
  if (!sure) return;
  await call("DELETE", at("conversations", c.id));
  if (c.id === id) open("", []);
  tell("The conversation is deleted.");
  await refresh();
}
