// The writing pad: continues the text while it is typed. The text stays in this tab.
import { events, send } from "./api.js";
import { $, button, el, fill, show, tell } from "./dom.js";
import { at, here } from "./here.js";
import { learn } from "./titles.js";
import { list } from "./words.js";
import { wording } from "./wrong.js";

const pause = 150; // ms after a key before the request
const sent = 8000; // characters before the cursor that are sent at most
const step = 2000; // the sent part begins at a multiple, so that what was computed fits
const behind = 500; // characters behind the cursor that are sent

let running = null; // aborts the running request
let timer = 0;
let composing = false; // an input method has unfinished characters
let offers = []; // continuations
let chosen = 0; // the shown one

const pad = () => $("write-text");

export function begin() {
  pad().addEventListener("compositionstart", () => { composing = true; hide(); });
  pad().addEventListener("compositionend", () => { composing = false; changed(); });
  pad().addEventListener("input", (e) => { if (!composing) changed(e.inputType === "insertText" ? e.data : null); });
  pad().addEventListener("keydown", pressed);
  pad().addEventListener("scroll", () => { $("write-grey").scrollTop = pad().scrollTop; });
  pad().addEventListener("blur", (e) => { if (!$("write-offers").contains(e.relatedTarget)) hide(); });
  document.addEventListener("selectionchange", () => { if (document.activeElement === pad() && !composing && moved()) hide(); });
}

export function reset() {
  hide();
  pad().value = "";
  $("write-wrong").textContent = "";
  $("write-from").textContent = "";
}

export function refresh() {
  if ($("view-write").hidden) hide();
  pad().disabled = !here.space;
}

let place = 0; // of the cursor when the text last changed

const moved = () => pad().selectionStart !== place || pad().selectionEnd !== place;

// changed keeps a continuation that the typed characters confirm, and asks for the next.
function changed(typed = null) {
  const left = typed && offers[chosen]?.startsWith(typed) ? offers[chosen].slice(typed.length) : "";
  stop();
  place = pad().selectionStart;
  offer(left ? [left] : []);
  if (!here.space || !pad().value.slice(0, place).trim()) return;
  timer = setTimeout(request, pause);
}

async function request() {
  const mine = new AbortController();
  running = mine;
  const text = pad().value;
  const from = Math.max(0, Math.ceil((place - sent) / step) * step);
  let streamed = "";
  try {
    const response = await send("POST", at("complete"), {
      body: { before: text.slice(from, place), after: text.slice(place, place + behind) }, accept: "text/event-stream, application/json;q=0.5", signal: mine.signal,
    });
    for await (const { event, data } of events(response)) {
      if (running !== mine) return;
      if (event === "token") offer([streamed += data.text]);
      else if (event === "done") came(data);
      else if (event === "error") throw Object.assign(new Error(data.title), { status: data.status });
    }
    $("write-wrong").textContent = "";
  } catch (e) {
    if (running === mine && e.status !== 409 && e.status !== 401) { // 409: another tab writes; 401: the event stream reports it
      hide();
      $("write-wrong").textContent = wording(e);
    }
  }
  if (running === mine) running = null;
}

function came({ candidates, citations }) {
  learn(here.space, citations);
  offer(candidates.map((c) => c.text));
  $("write-from").textContent = citations.length > 0 ? `Read for this: ${list(citations.map((c) => c.about))}` : "";
  if (offers.length > 0) tell(`Continuation: ${offers[0]}`);
}

// offer shows continuations, the first behind the cursor.
function offer(texts) {
  offers = texts;
  chosen = 0;
  draw();
}

function draw() {
  const text = pad().value;
  const ends = place === text.length || text[place] === "\n"; // elsewhere the grey text would cover yours
  fill($("write-grey"), el("span", { class: "typed", text: text.slice(0, place) }), el("span", { class: "next", text: ends ? offers[chosen] ?? "" : "" }));
  $("write-grey").scrollTop = pad().scrollTop;
  fill($("write-offers"), offers.map((o, i) => el("li", {}, button(o.trim(), () => take(o), { class: i === chosen ? "outline chosen" : "outline" }))));
  show($("write-offers"), offers.length > 0);
}

function pressed(e) {
  if (offers.length === 0 || e.isComposing) return;
  const plain = !e.ctrlKey && !e.metaKey && !e.altKey && !e.shiftKey;
  if (e.key === "Tab" && plain) take(offers[chosen]);
  else if (e.key === "Escape") hide();
  else if (e.altKey && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
    chosen = (chosen + (e.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length;
    draw();
    tell(`Continuation ${chosen + 1} of ${offers.length}: ${offers[chosen]}`);
  } else return;
  e.preventDefault();
}

// take inserts a continuation. The command keeps the browser's undo; its input event asks for
// the next continuation.
function take(text) {
  pad().focus();
  pad().setSelectionRange(place, place);
  offers = [];
  if (document.execCommand("insertText", false, text)) return;
  pad().setRangeText(text, place, place, "end");
  changed();
}

function stop() {
  clearTimeout(timer);
  running?.abort();
  running = null;
}

function hide() {
  stop();
  offer([]);
}
