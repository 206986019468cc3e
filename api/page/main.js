// The start of the page: signs in, then switches between views.
import { call } from "./api.js";
import * as asking from "./asking.js";
import { ask } from "./dialogs.js";
import * as documents from "./documents.js";
import * as memory from "./memory.js";
import * as settings from "./settings.js";
import * as door from "./door.js";
import { $, el, fill, show, tell } from "./dom.js";
import { forget, here, readRights, readSpaces } from "./here.js";
import * as activity from "./activity.js";
import { calm, hear, hush, listen } from "./live.js";
import { keep, recall } from "./keep.js";
import * as works from "./works.js";
import * as writing from "./writing.js";

const views = { ask: asking, write: writing, documents, memory, activity, settings, works };
const kept = "percached-space";
let inside = false;

const named = () => /^#\/(\w+)$/.exec(location.hash)?.[1];
const current = () => (Object.hasOwn(views, named()) ? named() : "ask");

function lead(move) {
  if (!inside) return;
  const now = current();
  for (const name of Object.keys(views)) show($(`view-${name}`), name === now);
  for (const link of $("nav").children) {
    if (link.hash === `#/${now}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  const title = $(`${now}-title`).textContent;
  document.title = `${title} · percached`;
  if (move) {
    $("main").focus({ preventScroll: true });
    scrollTo(0, 0);
    tell(title);
  }
  refresh();
}

const refresh = () => { if (inside) views[current()].refresh(); };

function drawSpaces() {
  fill($("space"), here.spaces.map((s) => el("option", { value: s.name, text: s.name })));
  $("space").value = here.space;
  show($("space-new"), here.may.admin);
}

function look(space) {
  here.space = space;
  sessionStorage.setItem(kept, space);
  keep(kept, space);
  drawSpaces();
  for (const view of Object.values(views)) view.reset();
  refresh();
}

async function enter() {
  here.space = sessionStorage.getItem(kept) ?? recall(kept);
  await readSpaces();
  if (here.space) sessionStorage.setItem(kept, here.space); // each tab keeps its own
  await readRights();
  inside = true;
  drawSpaces();
  for (const id of ["tools", "nav", "sign-out", "live"]) show($(id));
  listen(tellLive, () => leave("This token is not valid any more: it was revoked."));
  for (const view of Object.values(views)) view.reset();
  lead(false);
  if (current() === "ask") $("question").focus();
}

async function leave(why) {
  inside = false;
  hush();
  forget();
  sessionStorage.removeItem(kept);
  for (const view of Object.values(views)) view.reset();
  for (const id of ["tools", "nav", "sign-out", "live", ...Object.keys(views).map((v) => `view-${v}`)]) show($(id), false);
  for (const id of ["reader", "asker"]) $(id).close();
  await door.close(why);
}

const words = { live: "live", waiting: "no connection, trying again", asleep: "resting" };

function tellLive(state) {
  $("live").className = `state ${state}`;
  $("live").textContent = words[state];
}

const rule = "A name has small letters, digits, dots, dashes and underscores. It begins with a letter or a digit, and has at most 64 of them.";

async function newSpace() {
  const name = await ask({
    title: "New space", text: "A space is a place for documents that belong together. Nothing of one is used in another.", yes: "Create", field: "Name",
    attempt: async (name) => {
      if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) throw new Error(rule);
      if (here.spaces.some((s) => s.name === name)) throw new Error("There is a space of this name already.");
      await call("POST", "v1/spaces", { body: { name } });
      await readSpaces();
    },
  });
  if (name) look(name);
}

const grown = calm(async () => {
  if (!inside) return;
  const before = here.space;
  await readSpaces().catch(() => {}); // keep the old list on failure
  if (here.space !== before) {
    await readRights().catch(() => {}); // keep the old rights on failure
    look(here.space);
  } else drawSpaces();
});

$("space").addEventListener("change", (e) => look(e.target.value));
$("space-new").addEventListener("click", newSpace);
$("sign-out").addEventListener("click", () => leave(""));
addEventListener("hashchange", () => { if (named()) lead(true); });
hear(["open", "lost"], refresh);
hear(["settings", "forgotten", "lost"], grown);
for (const view of Object.values(views)) view.begin({ refresh: calm(refresh) });
await door.open(enter);
