// Shows an answer: its outcome, citations, times and gate.
import { call } from "./api.js";
import { read } from "./dialogs.js";
import { button, el, tell, worker, wrongLine } from "./dom.js";
import { forgetDocument } from "./forgetting.js";
import { at, here } from "./here.js";
import { keep, recall } from "./keep.js";
import { mark } from "./mark.js";
import { drawTimes } from "./times.js";
import { count, ms, outcomes, plural, tests, upper } from "./words.js";

const wholly = "The model had read all of these chunks before, and computed only the question.";

/** Returns the elements below an answer's text. again and past are buttons that ask again. */
export function drawAnswer(question, answer, { again, past }) {
  const outcome = outcomes[answer.outcome];
  const after = el("div", { role: "status" });
  return [
    el("div", { class: "row" },
      el("span", { class: `pill ${answer.outcome}`, id: "answer-outcome", "data-outcome": answer.outcome }, mark(answer.outcome), outcome.name),
      el("strong", { text: ms(answer.times.total_ms ?? 0) })),
    answer.instead && answer.answer ? el("p", { class: "note small", id: "answer-doubted" }, "The documents do not contain the model's answer, so it is not stored: ", el("q", { text: answer.answer })) : null,
    el("p", { class: "soft small", text: answer.outcome === "tensor_hit" && answer.chunks.stored === answer.chunks.all ? wholly : outcome.about }),
    (answer.notes ?? []).map((n) => el("p", { class: "note small", text: n })),
    drawTimes(answer),
    cited(answer.citations),
    el("details", { id: "why" }, el("summary", { text: "Why this answer" }), drawGate(answer)),
    el("div", { class: "row" },
      answer.entry && here.may.write ? wrongAnswer(question, answer, after, again) : null,
      past),
    after,
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
  const said = served ? "Noted: this stored answer is no longer used for this question." : "Noted: this answer is deleted.";
  const b = worker("Wrong answer", async () => {
    if (served) await call("POST", at("entries", entry, "veto"), { body: { asked: question } });
    else await call("DELETE", at("entries", entry));
    b.remove();
    after.replaceChildren(el("p", { class: "note" }, `${said} `, again));
    tell(said);
  }, (e) => after.replaceChildren(wrongLine(e)), { id: "veto", title: "Never use this answer for this question again" });
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

function cited(citations) {
  if (citations.length === 0) return null;
  const documents = new Map();
  for (const c of citations) documents.set(c.document, [...documents.get(c.document) ?? [], c]);
  return el("section", { "aria-label": "Citations" },
    el("h3", { text: "Citations" }),
    el("ul", { class: "cards" }, [...documents.values()].map((chunks) => el("li", {}, chunks.length === 1 ? citation(chunks[0], true) : several(chunks)))));
}

const citation = (c, whole) => el("button", {
  type: "button", class: "citation", onclick: () => read(here.space, c.document, c.chunk, here.may.write ? forgetDocument : null),
}, whole ? el("span", { class: "about", text: c.about }) : null, el("span", { class: "quote", text: c.quote.replace(/\s+/g, " ") }));

const several = (chunks) => el("div", { class: "cited-chunks" },
  el("p", { class: "row between" }, el("span", { class: "about", text: chunks[0].about }), el("span", { class: "tag", text: plural(chunks.length, "chunk") })),
  chunks.map((c) => citation(c, false)));

function drawGate(answer) {
  const { gate, chunks, tokens, drafts = [] } = answer;
  const sum = [`${upper(gate.why)}.`];
  if (chunks.all > 0) sum.push(`${chunks.stored} of ${plural(chunks.all, "chunk")} and ${count(tokens.reused)} of ${plural(tokens.prompt, "token")} were stored.`);
  const sumOf = (what) => drafts.reduce((n, d) => n + d[what], 0);
  if (drafts.length > 0) sum.push(`The model checked ${plural(sumOf("proposed"), "token")} of drafts and accepted ${count(sumOf("accepted"))}.`);
  return el("div", { class: "stack tight" },
    el("p", { text: sum.join(" ") }),
    (gate.considered ?? []).map((c) => el("div", { class: "considered" },
      el("p", {}, el("q", { text: c.question }), el("span", { class: "soft small", text: ` ${c.exact ? "the same words" : `similarity ${c.similarity.toFixed(3)}`}` })),
      el("ul", { class: "tests", "aria-label": "Tests of the gate" }, c.tests.map((t) => el("li", { class: t.passed ? "passed" : "failed" },
        el("span", { "aria-hidden": "true", text: t.passed ? "✓ " : "✕ " }), el("span", { class: "unseen", text: t.passed ? "passed: " : "failed: " }),
        tests[t.name] ?? t.name, t.detail ? el("span", { class: "soft", text: ` (${t.detail})` }) : null))))));
}
