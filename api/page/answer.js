// Shows an answer: how it was made, what one can do about it, and how it works.
import { call } from "./api.js";
import { button, el, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { keep, recall } from "./keep.js";
import { mark } from "./mark.js";
import { drawTimes } from "./times.js";
import { undoable } from "./undo.js";
import { count, ms, outcomes, plural, tests, upper } from "./words.js";

const wholly = "The model had read all of these passages before, and read only the question.";

/** Returns the elements below an answer's sources. again and past are buttons that ask again. */
export function drawAnswer(question, answer, { again, past }) {
  const outcome = outcomes[answer.outcome];
  const after = el("div", { role: "status" });
  return [
    answer.understood_as ? el("p", { class: "soft small", id: "answer-understood" }, "Understood as: ", el("q", { text: answer.understood_as })) : null,
    answer.instead && answer.answer ? el("p", { class: "note small", id: "answer-doubted" }, "The documents do not contain the model's answer, so it is not kept: ", el("q", { text: answer.answer })) : null,
    (answer.notes ?? []).map((n) => el("p", { class: "note small", text: `${upper(n)}.` })),
    el("div", { class: "row between" },
      el("span", { class: `pill ${answer.outcome}`, id: "answer-outcome", "data-outcome": answer.outcome }, mark(answer.outcome), outcome.name, ` · ${ms(answer.times.total_ms ?? 0)}`),
      el("span", { class: "row tight" }, answer.entry && here.may.write ? wrongAnswer(question, answer, after, again) : null, past)),
    after,
    el("details", { id: "why" }, el("summary", { text: "How this works" }), el("div", { class: "stack tight" },
      el("p", { text: answer.outcome === "tensor_hit" && answer.chunks.stored === answer.chunks.all ? wholly : outcome.about }),
      drawTimes(answer), drawGate(answer))),
    tiny(),
  ];
}

/** Returns the best passage of the documents, for an answer that they do not contain. */
export function drawInstead({ text, marks }) {
  const letters = [...text]; // marks count characters, not UTF-16
  const cut = (from, to) => letters.slice(from, to).join("");
  const parts = [];
  let at = 0;
  for (const { start, end } of marks) {
    parts.push(cut(at, start), el("mark", { text: cut(start, end) }));
    at = end;
  }
  return [el("span", { class: "unsure", text: "Not sure; the documents say:" }), " ", ...parts, cut(at)];
}

// A served answer may be right for other questions, so it is vetoed for this one only. An answer
// computed for this question is deleted.
function wrongAnswer(question, { outcome, entry }, after, again) {
  const served = outcome === "answer_hit";
  const path = served ? at("entries", entry, "veto") : at("entries", entry);
  const b = button("Wrong answer", () => {
    b.hidden = true;
    after.replaceChildren(undoable(served ? "Noted: this question will not get this answer again." : "Noted: this answer will not be given again.",
      () => (served ? call("POST", path, { body: { asked: question }, keepalive: true }) : call("DELETE", path, { keepalive: true })),
      { wrong: (e) => after.replaceChildren(wrongLine(e)), undone: () => { b.hidden = false; b.focus(); } }, again));
  }, { id: "veto", class: "outline" });
  return b;
}

const seen = "percached-tiny-seen";

// tiny warns about the built-in model until the user dismisses it.
function tiny() {
  if (!here.model.includes("nano") || recall(seen)) return null;
  const line = el("p", { class: "soft small tiny" }, "Answered by the built-in model, which is tiny and often wrong. ", el("code", { text: "percached pull --list" }), " lists better models. ",
    button("Got it", () => { keep(seen, "yes"); line.remove(); }, { class: "outline" }));
  return line;
}

function drawGate(answer) {
  const { gate, chunks, tokens, drafts = [] } = answer;
  const sum = [`${upper(gate.why)}.`];
  if (chunks.all > 0) sum.push(`${chunks.stored} of ${plural(chunks.all, "passage")} and ${count(tokens.reused)} of ${plural(tokens.prompt, "token")} had been read before.`);
  const sumOf = (what) => drafts.reduce((n, d) => n + d[what], 0);
  if (drafts.length > 0) sum.push(`The model checked ${plural(sumOf("proposed"), "token")} of drafts and accepted ${count(sumOf("accepted"))}.`);
  return el("div", { class: "stack tight" },
    el("p", { text: sum.join(" ") }),
    (gate.considered ?? []).map((c) => el("div", { class: "considered" },
      el("p", {}, el("q", { text: c.question }), el("span", { class: "soft small", text: ` ${c.exact ? "the same words" : `similarity ${c.similarity.toFixed(3)}`}` })),
      el("ul", { class: "tests", "aria-label": "What was tested" }, c.tests.map((t) => el("li", { class: t.passed ? "passed" : "failed" },
        el("span", { "aria-hidden": "true", text: t.passed ? "✓ " : "✕ " }), el("span", { class: "unseen", text: t.passed ? "passed: " : "failed: " }),
        tests[t.name] ?? t.name, t.detail ? el("span", { class: "soft", text: ` (${t.detail})` }) : null))))));
}
