// Two bars below an answer: its time by stage, and its reused tokens.
import { el } from "./dom.js";
import { count, ms, plural, stages, upper } from "./words.js";

export function drawTimes(answer) {
  return el("section", { class: "stack tight", "aria-label": "Where the time went" },
    el("h3", { text: "Where the time went" }), timeBar(answer.times), energy(answer), reuse(answer));
}

function timeBar(times) {
  const total = times.total_ms ?? 0;
  const parts = stages.map((s) => ({ ...s, took: s.of.reduce((sum, name) => sum + (times[`${name}_ms`] ?? 0), 0) })).filter((s) => s.took > 0);
  const other = total - parts.reduce((sum, p) => sum + p.took, 0);
  if (other > total / 200) parts.push({ name: "Other", class: "wait", took: other });
  const words = parts.map((p) => `${p.name} ${ms(p.took)}`).join(", ");
  return bar("times", parts, `${ms(total)} in all: ${words}`, (p) => ms(p.took));
}

function energy({ joules }) {
  if (joules === undefined) return null; // unknown
  return el("p", { class: "soft small", id: "answer-energy", text: `Energy: ${joules < 0.01 ? "below 0.01" : joules.toFixed(2)} J, with what other programs used meanwhile.` });
}

function reuse({ outcome, chunks, tokens }) {
  if (outcome === "answer_hit") return null; // no prompt
  const parts = [
    { name: "Read before", class: "load", took: tokens.reused },
    { name: "Read now", class: "read", took: tokens.computed },
  ].filter((p) => p.took > 0);
  const words = `${count(tokens.reused)} of ${plural(tokens.prompt, "token")} and ${chunks.stored} of ${plural(chunks.all, "passage")} had been read before`;
  return el("div", { class: "stack tight" },
    el("h3", { text: "What was reused" }),
    bar("reused", parts, words, (p) => count(p.took)),
    el("p", { class: "soft small", text: `${upper(words)}; ${plural(tokens.generated, "token")} written.` }));
}

// bar draws the parts of a total with a legend.
function bar(id, parts, words, value) {
  const sum = parts.reduce((all, p) => all + p.took, 0);
  const pieces = parts.map((p) => {
    const piece = el("span", { class: `piece ${p.class}`, title: `${p.name}: ${value(p)}` });
    piece.style.flexGrow = (1000 * p.took) / sum;
    return piece;
  });
  return el("div", { class: "stack tight" },
    el("div", { class: "bar", id: `bar-${id}`, role: "img", "aria-label": words }, pieces),
    el("ul", { class: "legend small" }, parts.map((p) => el("li", {}, el("span", { class: `dot ${p.class}`, "aria-hidden": "true" }), `${p.name} `, el("b", { text: value(p) })))));
}
