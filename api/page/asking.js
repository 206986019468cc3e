// Asks questions: shows their sources as soon as they are found, and the answer while it arrives.
import { Refused, events, get, send } from "./api.js";
import { drawAnswer, drawInstead } from "./answer.js";
import { $, button, el, fill, show } from "./dom.js";
import { at, here } from "./here.js";
import { calm, hear } from "./live.js";
import { drawSources } from "./sources.js";
import { hide, suggest } from "./suggest.js";
import * as talks from "./talks.js";
import { learn } from "./titles.js";
import { finish } from "./undo.js";
import { wording } from "./wrong.js";

const most = 8192; // bytes of a question

let running = null; // aborts the running question
let last = null; // the question and answer on the page
let sources = []; // of the running question

export function begin() {
  for (const [form, input, next] of [["ask-form", "question", fresh], ["follow-form", "follow", put]]) {
    $(form).addEventListener("submit", (e) => {
      e.preventDefault();
      const question = $(input).value.trim();
      const wrong = !question ? "Type a question first." : new TextEncoder().encode(question).length > most ? "The question is too long: about 8,000 letters are allowed. Ask a shorter one." : "";
      if (!wrong) return void next(question);
      $("ask-wrong").textContent = wrong;
      $(input).focus();
    });
    $(input).addEventListener("input", () => { $("ask-wrong").textContent = ""; });
  }
  $("ask-stop").addEventListener("click", stop);
  document.addEventListener("keydown", (e) => { if (e.key === "Escape" && !document.querySelector("dialog[open]")) stop(); });
  talks.begin(() => {
    clear();
    refresh();
  });
  const again = calm(refresh);
  hear(["forgotten", "lost"], (e) => { if ((e.type === "lost" || e.space === here.space) && !running) talks.reread(); });
  hear(["answer", "upload", "forgotten", "stored"], again);
}

function clear() {
  stop();
  last = null;
  for (const id of ["question", "follow"]) $(id).value = "";
  $("ask-wrong").textContent = "";
  show($("answer"), false);
  show($("follow-form"), talks.isOpen());
}

export function reset() {
  clear();
  hide();
  talks.reset();
}

export async function refresh() {
  if ($("view-ask").hidden) return;
  const offer = (question) => {
    $("question").value = question;
    fresh(question);
  };
  await Promise.all([empty(), suggest(offer, () => $("answer").hidden && !talks.isOpen()), talks.refresh()]).catch((e) => {
    if (e.status !== 401) $("ask-wrong").textContent = wording(e); // 401: the event stream reports it
  });
}

// empty says what to do if the user cannot ask yet.
async function empty() {
  let text = "";
  let next = null;
  if (!here.space) {
    text = here.may.admin ? "Begin with a space: a place for documents that belong together, such as your mail." : "This token includes no space. Ask the owner of percached to create one.";
    next = here.may.admin ? button("Create a space", () => $("space-new").click(), { class: "main" }) : null;
  } else if ((await get(at())).documents === 0) {
    text = here.may.write ? "There are no documents in this space yet. Add your mail, notes or PDFs; then ask about them. They stay on this device." : "There are no documents in this space yet, and this token cannot add any.";
    next = here.may.write ? el("a", { class: "button main", href: "#/documents", text: "Add documents" }) : null;
  }
  show($("ask-empty"), text !== "");
  for (const control of [$("question"), $("ask-go")]) control.disabled = !here.space;
  if (text) fill($("ask-empty"), el("p", { text }), next);
}

function stop() {
  running?.abort();
  running = null;
}

// fresh asks a question in a conversation of its own, where a stored answer may serve.
function fresh(question, past) {
  last = null;
  talks.close();
  put(question, past);
}

/** Asks a question in the open conversation; past ignores stored answers. */
async function put(question, past = false) {
  if (!question || !here.space) return;
  stop();
  if (last && last.question !== question) talks.keep(last.question, last.answer);
  last = null;
  const first = talks.isFirst();
  let conversation = "";
  const mine = new AbortController();
  running = mine;
  begun(question);
  try {
    await finish();
    conversation = await talks.enter(question, mine.signal);
    const response = await send("POST", at("ask"), {
      body: { question, ...(past ? { bypass: true } : {}), ...(conversation ? { conversation } : {}) }, accept: "text/event-stream, application/json;q=0.5", signal: mine.signal,
    });
    let whole = null;
    for await (const { event, data } of events(response)) {
      if (event === "done") whole = data;
      else if (event === "error") throw new Refused(data);
      else heard(event, data);
    }
    if (!whole) throw new Refused({ title: "The connection ended before the answer was complete", fix: "Ask again." });
    ended(question, whole);
  } catch (e) {
    if (running === mine) failed(e);
    else if (running === null) halted();
    if (first) talks.abandon(conversation);
  }
  if (running === mine) running = null;
  if (running !== null) return; // the next question
  busy(false);
  show($("follow-form"), talks.isOpen());
  $("follow").value = "";
}

function busy(yes) {
  show($("ask-stop"), yes);
  $("answer").setAttribute("aria-busy", String(yes));
}

function begun(question) {
  $("ask-wrong").textContent = "";
  show($("ask-empty"), false);
  show($("follow-form"), talks.isOpen());
  hide();
  sources = [];
  show($("answer"));
  $("answer").dataset.state = "running";
  $("answer-question").textContent = question;
  $("answer-text").textContent = "";
  $("answer-text").className = "said";
  $("answer-doing").textContent = "Looking";
  for (const id of ["answer-sources", "answer-rest"]) fill($(id));
  busy(true);
}

function heard(event, data) {
  if (event === "citation") {
    sources.push(data);
    fill($("answer-sources"), drawSources(sources));
    $("answer-doing").textContent = sources.length === 1 ? "Reading a passage" : `Reading ${sources.length} passages`;
  } else if (event === "token") {
    $("answer-text").append(data.text);
    $("answer-doing").textContent = "Writing";
  }
}

function ended(question, answer) {
  learn(here.space, answer.citations);
  last = { question, answer: answer.instead?.text ?? answer.answer };
  $("answer").dataset.state = "done";
  $("answer-doing").textContent = "";
  $("answer-text").className = answer.refused ? "said refused" : answer.instead ? "said instead" : "said";
  fill($("answer-text"), answer.instead ? drawInstead(answer.instead) : answer.answer);
  const same = (a, b) => a.length === b.length && a.every((c, i) => c.chunk === b[i].chunk);
  if (!same(sources, answer.citations)) fill($("answer-sources"), drawSources(answer.citations));
  const next = talks.isFirst() ? fresh : put;
  fill($("answer-rest"), drawAnswer(question, answer, {
    again: button("Ask again", () => next(question), { class: "outline" }),
    past: button("Answer anew", () => next(question, true), { class: "outline" }),
  }));
}

function failed(e) {
  show($("answer"), false);
  $("answer").dataset.state = "failed";
  $("ask-wrong").textContent = wording(e);
}

function halted() {
  $("answer").dataset.state = "stopped";
  $("answer-doing").textContent = "Stopped. The answer is not kept.";
}
