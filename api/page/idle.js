// Idle work: its state and reasons, the queue, costs and savings, and predicted questions.
import { call, get } from "./api.js";
import { $, el, fill, part, tell, worker, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { hear } from "./live.js";
import { drawTable } from "./table.js";
import { bytes, count, kinds, list, moment, plural, prepared, reasonOf, seconds } from "./words.js";

const box = () => $("idle");
let news = null; // result of the last button
let draining = false;

export function begin(page) {
  hear(["job", "answer", "changed", "settings"], page.refresh);
  setInterval(() => { if (!$("view-idle").hidden && !document.hidden) page.refresh(); }, 15000); // windows open with time
}

export function reset() {
  news = null;
  fill(box());
}

export async function refresh() {
  const space = here.space;
  try {
    const whole = here.may.whole ? await Promise.all([get("v1/idle"), get("v1/idle/queue"), get("v1/idle/ledger"), get(`v1/idle/ledger?since=${yesterday()}`), get("v1/status")]) : [];
    const [predicted, changed] = space ? await Promise.all([get(at("predictions")), get(`${at("entries")}?changed=true&limit=20`)]) : [null, null];
    if (space !== here.space) return;
    fill(box(), whole.length > 0 ? drawWhole(...whole) : el("p", { class: "note", text: "Queue and ledger belong to all spaces, and this token is for one space." }),
      changed && changed.entries.length > 0 ? drawChanged(changed.entries) : null, predicted ? drawPredicted(predicted) : null);
  } catch (e) {
    fill(box(), wrongLine(e));
  }
}

const states = { working: "Working", idle: "Nothing to do", waiting: "Waiting", paused: "Paused" };

const yesterday = () => new Date(Date.now() - 24 * 3600 * 1000).toISOString();

function drawWhole(idle, queue, ledger, lately, { placements }) {
  return [drawState(idle), drawLately(lately.accounts), drawQueue(queue.jobs), drawLedger(ledger), placements.length > 0 ? drawPlacements(placements) : null];
}

function drawPlacements(placements) {
  const read = { parallel: "side by side", sequential: "one after the other" };
  return part("How the model reads documents",
    drawTable("How the model reads what it answers from", ["Documents", "Chunks", "Why", "Questions compared"],
      placements.map((p) => [p.kind, read[p.placement] ?? p.placement, p.why, count(p.questions)])));
}

function drawState(i) {
  const until = (r) => (moment(r.until) ? `, until ${moment(r.until)}` : "");
  const { used, left } = i.window;
  return el("section", { class: "card stack tight", "aria-label": "State" },
    el("div", { class: "row between" },
      el("h2", { id: "idle-state", "data-state": i.state, text: i.running ? `Working: ${kinds[i.running.kind] ?? i.running.kind}` : states[i.state] ?? i.state }),
      here.may.admin ? buttons(i) : null),
    el("ul", { class: "plain" }, i.reasons.map((r) => el("li", { text: `${reasonOf(r)}${until(r)}.` }))),
    el("p", { class: "soft small", text: `In this window, for all spaces together: ${seconds(used.compute_seconds)} of compute, ${plural(used.questions, "question")} and ${bytes(used.bytes_written)} written; ` +
      `${seconds(left.compute_seconds)}, ${plural(left.questions, "question")} and ${bytes(left.bytes_written)} are left.` }),
    el("div", { id: "idle-news", role: "status" }, news));
}

function buttons(i) {
  const wrong = (e) => { news = wrongLine(e); refresh(); };
  const done = (text) => {
    news = el("p", { class: "note", text });
    tell(text);
    return refresh();
  };
  return el("div", { class: "row tight" },
    here.space && i.state !== "paused" ? worker(draining ? "Running" : "Run now", async () => {
      draining = true;
      refresh();
      const d = await call("POST", `v1/idle/drain?space=${encodeURIComponent(here.space)}`).finally(() => { draining = false; });
      const why = d.done === 0 && d.reasons.length > 0 ? `: ${d.reasons.map(reasonOf).join("; ")}` : "";
      await done(`${plural(d.done, "job")} done in ${seconds(d.seconds)}${d.failed ? `, ${count(d.failed)} failed` : ""}${why}.`);
    }, wrong, { id: "idle-run", class: "main", "aria-disabled": draining ? "true" : null }) : null,
    i.state === "paused"
      ? worker("Resume", async () => { await call("POST", "v1/idle/resume"); await done("Idle work is resumed."); }, wrong, { id: "idle-toggle" })
      : worker("Pause", async () => { await call("POST", "v1/idle/pause"); await done("Idle work is paused."); }, wrong, { id: "idle-toggle" }));
}

const parked = "given up";

// A queue may contain hundreds of jobs of a kind, so each kind is one line that expands.
function drawQueue(jobs) {
  const groups = new Map();
  const state = (j) => (j.parked ? parked : moment(j.from) ? "later" : "due");
  for (const j of jobs) {
    const name = `${j.kind} ${state(j)}`;
    groups.set(name, [...groups.get(name) ?? [], j]);
  }
  const open = new Set([...box().querySelectorAll("details[open]")].map((d) => d.dataset.jobs));
  return part("Queue", groups.size === 0 ? el("p", { class: "soft", text: "No jobs are waiting." }) : [...groups].map(([name, some]) => el("details", { class: "jobs", "data-jobs": name, open: open.has(name) },
    el("summary", {}, `${some[0].kind} × ${count(some.length)}, ${state(some[0])}`, el("span", { class: "small", text: kinds[some[0].kind] ? `: ${kinds[some[0].kind]}` : "" })),
    drawJobs(some))));
}

function drawJobs(jobs) {
  const most = 50;
  const state = (j) => (j.parked ? `${parked} after ${plural(j.attempts, "try", "tries")}${j.reason ? ` (${j.reason.replaceAll("_", " ")})` : ""}`
    : [moment(j.from) ? `from ${moment(j.from)}` : "due", j.attempts ? plural(j.attempts, "try", "tries") : ""].filter(Boolean).join(", "));
  return [
    drawTable(`Waiting jobs: ${jobs[0].kind}`, ["Space", "State", "Since"], jobs.slice(0, most).map((j) => [j.space, state(j), moment(j.added)])),
    jobs.length > most ? el("p", { class: "soft small", text: `${count(jobs.length - most)} more are not shown.` }) : null,
  ];
}

// What was prepared since yesterday, and what of all that was prepared was used.
function drawLately(accounts) {
  const sum = (key) => accounts.reduce((n, a) => n + a[key], 0);
  const done = accounts.filter((a) => prepared[a.kind] && a.jobs > 0).map((a) => prepared[a.kind](a.jobs));
  return el("section", { class: "card stack tight", "aria-labelledby": "idle-lately" },
    el("h2", { id: "idle-lately", text: "Since yesterday" }),
    el("p", { text: done.length === 0 ? "Idle work prepared nothing." : `Idle work ${list(done)}, in ${seconds(sum("seconds"))} of compute.` }),
    el("p", { text: sum("uses") === 0 ? "No question used anything that idle work had prepared." : `Questions used what idle work had prepared ${plural(sum("uses"), "time")}, which saved ${seconds(sum("earned_seconds"))} of waiting.` }));
}

function drawLedger({ since, accounts }) {
  const spent = accounts.reduce((sum, a) => sum + a.seconds, 0);
  const earned = accounts.reduce((sum, a) => sum + a.earned_seconds, 0);
  return part("Ledger, all spaces together",
    el("p", { class: "soft small", text: `Since ${moment(since)}: ${seconds(spent)} of compute time spent, ${seconds(earned)} of waiting time saved.` }),
    accounts.length === 0 ? null : drawTable("What idle work cost and saved", ["Kind", "Jobs", "Spent", "Written", "Used", "Saved"], accounts.map((a) => [
      a.kind, count(a.jobs), seconds(a.seconds), bytes(a.bytes_written), plural(a.uses, "time"), seconds(a.earned_seconds)])));
}

// Answers that are other than those the user knows.
function drawChanged(entries) {
  return part("New answers to questions you asked",
    el("p", { class: "soft small", text: "Documents came or changed, and idle work asked again." }),
    drawTable("New answers", ["Question", "Answer now", "Since"], entries.map((e) => [e.question, e.answer, moment(e.made)])));
}

function drawPredicted({ predictions, stats }) {
  const most = 50;
  return part(`Predicted questions in the space ${here.space}`,
    el("p", { class: "soft small", text: `${plural(stats.predictions, "question")}, ${count(stats.populated)} of them got ready, ${count(stats.asked)} asked.` }),
    predictions.length === 0 ? el("p", { class: "soft", text: "None yet." }) : drawTable("Questions that may be asked", ["Question", "From", "Ready", "Asked"],
      predictions.slice(0, most).map((p) => [p.question, p.from, p.populated ? "yes" : "not yet", plural(p.hits, "time")])),
    predictions.length > most ? el("p", { class: "soft small", text: `${count(predictions.length - most)} more are not shown.` }) : null);
}
