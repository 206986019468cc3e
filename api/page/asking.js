// Asks questions: shows the answer while it arrives, and the tree beside it.
import { Refused, events, get, send } from "./api.js";
import { drawAnswer, drawInstead } from "./answer.js";
import { $, button, el, fill, show } from "./dom.js";
import { at, here } from "./here.js";
import { calm, hear } from "./live.js";
import { mark } from "./mark.js";
import { drawSpace } from "./numbers.js";
import * as grove from "./grove.js";
import { learn } from "./titles.js";
import { ms } from "./words.js";
import { wording } from "./wrong.js";

let running = null; // aborts the running question

export function begin() {
  $("ask-form").addEventListener("submit", (e) => {
    e.preventDefault();
    const question = $("question").value.trim();
    if (question) return void put(question);
    $("ask-wrong").textContent = "Type a question first.";
    $("question").focus();
  });
  $("question").addEventListener("input", () => { $("ask-wrong").textContent = ""; });
  $("ask-stop").addEventListener("click", stop);
  document.addEventListener("keydown", (e) => { if (e.key === "Escape" && !document.querySelector("dialog[open]")) stop(); });
  grove.begin();
  const again = calm(refresh);
  hear(["upload", "evicted", "forgotten", "stored"], again);
  hear(["answer"], (e) => {
    if (e.space !== here.space) return;
    grove.light(e.data);
    again();
  });
}

export function reset() {
  stop();
  $("question").value = "";
  $("ask-wrong").textContent = "";
  for (const id of ["answer", "lately"]) show($(id), false);
  grove.reset();
}

export async function refresh() {
  if ($("view-ask").hidden) return;
  $("ask-where").textContent = here.space ? `In the space ${here.space}` : "";
  await Promise.all([empty(), lately(), grove.refresh(), drawSpace($("ask-numbers"))]).catch((e) => {
    if (e.status !== 401) $("ask-wrong").textContent = wording(e); // 401: the event stream reports it
  });
}

// empty says what to do if the user cannot ask yet.
async function empty() {
  const card = $("ask-empty");
  let text = "";
  if (!here.space) {
    text = here.may.admin ? "There is no space yet. Create one with the button above." : "This token includes no space. Ask the owner of percached to create one.";
  } else if ((await get(at())).documents === 0) {
    text = here.may.write ? "There are no documents in this space yet." : "There are no documents in this space yet, and this token cannot add any.";
  }
  show(card, text !== "");
  for (const control of [$("question"), $("ask-go")]) control.disabled = !here.space;
  if (text) {
    fill(card, el("p", { text }), here.space && here.may.write ? el("a", { class: "button main", href: "#/documents", text: "Add documents" }) : null);
  }
}

// lately offers earlier questions while there is no answer to show.
async function lately() {
  if (!here.space || !$("answer").hidden) return;
  const { questions } = await get(`${at("history")}?limit=30`);
  const last = new Map(questions.map((q) => [q.question.toLowerCase(), q]));
  const some = questions.filter((q) => last.get(q.question.toLowerCase()) === q).reverse().slice(0, 6);
  fill($("lately-list"), some.map((q) => el("li", {}, mark(q.outcome), button(q.question, () => {
    $("question").value = q.question;
    put(q.question);
  }, { class: "link" }), el("span", { class: "soft small", text: ms(q.took_ms) }))));
  show($("lately"), some.length > 0 && $("answer").hidden);
}

function stop() {
  running?.abort();
  running = null;
}

/** Asks a question; past ignores stored answers. */
async function put(question, past = false) {
  if (!question || !here.space) return;
  stop();
  const mine = new AbortController();
  running = mine;
  begun(question);
  try {
    const response = await send("POST", at("ask"), {
      body: past ? { question, bypass: true } : { question }, accept: "text/event-stream, application/json;q=0.5", signal: mine.signal,
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
  }
  if (running === mine) running = null;
  if (running === null) busy(false); // otherwise the next question is running
}

function busy(yes) {
  show($("ask-stop"), yes);
  $("answer").setAttribute("aria-busy", String(yes));
}

function begun(question) {
  $("ask-wrong").textContent = "";
  for (const id of ["ask-empty", "lately"]) show($(id), false);
  show($("answer"));
  $("answer").dataset.state = "running";
  $("answer-question").textContent = question;
  $("answer-text").textContent = "";
  $("answer-text").className = "said";
  $("answer-doing").textContent = "Looking for a stored answer";
  fill($("answer-rest"));
  busy(true);
}

const doing = { match_question: "Looking for chunks", retrieve: "Reading", match_tensors: "Reading", token: "Writing" };

function heard(event, data) {
  if (event === "token") $("answer-text").append(data.text);
  const now = doing[event === "stage" ? data.name : event];
  if (now && !$("answer-text").textContent) $("answer-doing").textContent = now;
  else if (event === "token") $("answer-doing").textContent = doing.token;
}

function ended(question, answer) {
  learn(here.space, answer.citations);
  $("answer").dataset.state = "done";
  $("answer-doing").textContent = "";
  $("answer-text").className = answer.refused ? "said refused" : answer.instead ? "said instead" : "said";
  fill($("answer-text"), answer.instead ? drawInstead(answer.instead) : answer.answer);
  fill($("answer-rest"), drawAnswer(question, answer, {
    again: button("Ask again", () => put(question)),
    past: button("Compute a new answer", () => put(question, true)),
  }));
}

function failed(e) {
  show($("answer"), false);
  $("answer").dataset.state = "failed";
  $("ask-wrong").textContent = wording(e);
}

function halted() {
  $("answer").dataset.state = "stopped";
  $("answer-doing").textContent = "Stopped. The answer is not stored.";
}
