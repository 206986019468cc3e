// An answer: how it came, what it rests on, where the time went, and why.
import { call } from "./api.js";
import { read } from "./dialogs.js";
import { button, el, tell, worker, wrongLine } from "./dom.js";
import { forgetDocument } from "./forgetting.js";
import { at, here } from "./here.js";
import { mark } from "./mark.js";
import { drawTimes } from "./times.js";
import { count, ms, outcomes, plural, tests, upper } from "./words.js";

const wholly = "The model had read all of these chunks before, and computed only the question.";

/** The elements below an answer's text. Again and past are buttons that ask once more. */
export function drawAnswer(question, answer, { again, past }) {
  const outcome = outcomes[answer.outcome];
  const after = el("div", { role: "status" });
  return [
    el("div", { class: "row" },
      el("span", { class: `pill ${answer.outcome}`, id: "answer-outcome", "data-outcome": answer.outcome }, mark(answer.outcome), outcome.name),
      el("strong", { text: ms(answer.times.total_ms ?? 0) })),
    el("p", { class: "soft small", text: answer.outcome === "tensor_hit" && answer.chunks.stored === answer.chunks.all ? wholly : outcome.about }),
    (answer.notes ?? []).map((n) => el("p", { class: "note small", text: n })),
    drawTimes(answer),
    cited(answer.citations),
    el("details", { id: "why" }, el("summary", { text: "Why this answer" }), drawGate(answer)),
    el("div", { class: "row" },
      answer.outcome === "answer_hit" && here.may.write ? wrongAnswer(question, answer.entry, after, again) : null,
      answer.outcome === "answer_hit" ? past : null),
    after,
  ];
}

function wrongAnswer(question, entry, after, again) {
  const b = worker("Wrong answer", async () => {
    await call("POST", at("entries", entry, "veto"), { body: { asked: question } });
    b.remove();
    after.replaceChildren(el("p", { class: "note" }, "Noted: this stored answer is not given to this question any more. "), again);
    tell("Noted. This stored answer is not given to this question any more.");
  }, (e) => after.replaceChildren(wrongLine(e)), { id: "veto", title: "This stored answer is never given to this question again" });
  return b;
}

function cited(citations) {
  if (citations.length === 0) return null;
  return el("section", { "aria-label": "What it rests on" },
    el("h3", { text: "Rests on" }),
    el("ul", { class: "cards" }, citations.map((c) => el("li", {}, el("button", {
      type: "button", class: "citation", onclick: () => read(here.space, c.document, c.chunk, here.may.write ? forgetDocument : null),
    }, el("span", { class: "about", text: c.about }), el("span", { class: "quote", text: c.quote.replace(/\s+/g, " ") }))))));
}

function drawGate(answer) {
  const { gate, chunks, tokens } = answer;
  const sum = [`${upper(gate.why)}.`];
  if (chunks.all > 0) sum.push(`${chunks.stored} of ${plural(chunks.all, "chunk")} and ${count(tokens.reused)} of ${plural(tokens.prompt, "token")} were stored.`);
  return el("div", { class: "stack tight" },
    el("p", { text: sum.join(" ") }),
    (gate.considered ?? []).map((c) => el("div", { class: "considered" },
      el("p", {}, el("q", { text: c.question }), el("span", { class: "soft small", text: ` ${c.exact ? "the same words" : `similarity ${c.similarity.toFixed(3)}`}` })),
      el("ul", { class: "tests", "aria-label": "Tests of the gate" }, c.tests.map((t) => el("li", { class: t.passed ? "passed" : "failed" },
        el("span", { "aria-hidden": "true", text: t.passed ? "✓ " : "✕ " }), el("span", { class: "unseen", text: t.passed ? "passed: " : "failed: " }),
        tests[t.name] ?? t.name, t.detail ? el("span", { class: "soft", text: ` (${t.detail})` }) : null))))));
}
