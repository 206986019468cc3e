// Details of idle work: the queue, costs and savings, how the model reads, expected questions.
import { el, part } from "./dom.js";
import { here } from "./here.js";
import { drawTable } from "./table.js";
import { bytes, count, kinds, moment, plural, seconds, upper } from "./words.js";

const parked = "given up";

// A queue may contain hundreds of jobs of a kind, so each kind is one line that expands.
export function drawQueue(jobs) {
  const groups = new Map();
  const state = (j) => (j.parked ? parked : moment(j.from) ? "later" : "due");
  for (const j of jobs) {
    const name = `${j.kind} ${state(j)}`;
    groups.set(name, [...groups.get(name) ?? [], j]);
  }
  const open = new Set([...document.querySelectorAll("#idle details[open]")].map((d) => d.dataset.jobs));
  return part("Waiting work", groups.size === 0 ? el("p", { class: "soft", text: "Nothing is waiting." }) : [...groups].map(([name, some]) => el("details", { class: "jobs", "data-jobs": name, open: open.has(name) },
    el("summary", {}, `${upper(kinds[some[0].kind] ?? some[0].kind)}: ${count(some.length)}, ${state(some[0])}`),
    drawJobs(some))));
}

function drawJobs(jobs) {
  const most = 50;
  const state = (j) => (j.parked ? `${parked} after ${plural(j.attempts, "try", "tries")}${j.reason ? ` (${j.reason.replaceAll("_", " ")})` : ""}`
    : [moment(j.from) ? `from ${moment(j.from)}` : "due", j.attempts ? plural(j.attempts, "try", "tries") : ""].filter(Boolean).join(", "));
  return [
    drawTable(`Waiting: ${kinds[jobs[0].kind] ?? jobs[0].kind}`, ["Space", "State", "Since"], jobs.slice(0, most).map((j) => [j.space, state(j), moment(j.added)])),
    jobs.length > most ? el("p", { class: "soft small", text: `${count(jobs.length - most)} more are not shown.` }) : null,
  ];
}

export function drawLedger({ since, accounts }) {
  const spent = accounts.reduce((sum, a) => sum + a.seconds, 0);
  const earned = accounts.reduce((sum, a) => sum + a.earned_seconds, 0);
  return part("What it cost and saved, in all spaces",
    el("p", { class: "soft small", text: `Since ${moment(since)}: ${seconds(spent)} of work, ${seconds(earned)} of waiting saved.` }),
    accounts.length === 0 ? null : drawTable("What idle work cost and saved", ["Work", "Done", "Took", "Written", "Used", "Saved"], accounts.map((a) => [
      upper(kinds[a.kind] ?? a.kind), count(a.jobs), seconds(a.seconds), bytes(a.bytes_written), plural(a.uses, "time"), seconds(a.earned_seconds)])));
}

export function drawPlacements(placements) {
  const read = { parallel: "side by side", sequential: "one after the other" };
  return part("How the model reads documents",
    drawTable("How the model reads what it answers from", ["Documents", "Passages", "Why", "Questions compared"],
      placements.map((p) => [p.kind, read[p.placement] ?? p.placement, p.why, count(p.questions)])));
}

export function drawPredicted({ predictions, stats }) {
  const most = 50;
  return part(`Questions it expects in the space ${here.space}`,
    el("p", { class: "soft small", text: `${plural(stats.predictions, "question")}, ${count(stats.populated)} of them got ready, ${count(stats.asked)} asked.` }),
    predictions.length === 0 ? el("p", { class: "soft", text: "None yet." }) : drawTable("Questions that may be asked", ["Question", "From", "Ready", "Asked"],
      predictions.slice(0, most).map((p) => [p.question, p.from, p.populated ? "yes" : "not yet", plural(p.hits, "time")])),
    predictions.length > most ? el("p", { class: "soft small", text: `${count(predictions.length - most)} more are not shown.` }) : null);
}

// drawBudget says how much of the machine percached takes, and why.
export function drawBudget({ memory: m, disk: d, sharing: s, changed }) {
  const free = (n) => (n === undefined ? "unknown" : bytes(n));
  return part("How much of this machine it takes",
    drawTable("What percached takes of this machine", ["", "Free now", "Taken", "Why"], [
      ["Memory", free(m.free_bytes), m.context > 0 ? `${count(m.context)} tokens at a time, ${bytes(m.used_bytes)}, beside a model of ${bytes(m.weight_bytes)}` : "nothing", m.why],
      s ? ["Memory use", "", `${bytes(s.slice_bytes)} of at most ${bytes(s.slice_limit_bytes)} for what was read last, ${bytes(s.typed_bytes)} for what you type`, s.why] : null,
      ["Disk", free(d.free_bytes), `${bytes(d.held_bytes)} of at most ${bytes(d.limit_bytes)} for what the model has read`, d.why],
    ].filter(Boolean)),
    changed ? el("p", { class: "soft small", text: `${upper(changed)}.` }) : null);
}
