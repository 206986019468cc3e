// What percached did while the user was away, what it does now, and why.
import { call, get } from "./api.js";
import { drawBudget, drawLedger, drawPlacements, drawPredicted, drawQueue } from "./behind.js";
import { $, el, fill, part, tell, worker, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { hear } from "./live.js";
import { drawDays, readDays } from "./days.js";
import { drawTable } from "./table.js";
import { count, kinds, list, moment, plural, prepared, reasonOf, seconds } from "./words.js";

const box = () => $("idle");
let news = null; // result of the last button
let draining = false;

export function begin(page) {
  hear(["job", "answer", "changed", "settings"], page.refresh);
  setInterval(() => { if (!$("view-activity").hidden && !document.hidden) page.refresh(); }, 15000); // windows open with time
}

export function reset() {
  news = null;
  fill(box());
}

export async function refresh() {
  const space = here.space;
  try {
    const whole = here.may.whole ? await Promise.all([get("v1/idle"), get("v1/idle/queue"), get("v1/idle/ledger"), readDays(), get("v1/status")]) : null;
    const [predicted, changed] = space ? await Promise.all([get(at("predictions")), get(`${at("entries")}?changed=true&limit=20`)]) : [null, null];
    if (space !== here.space) return;
    const [idle, queue, ledger, days, { placements, budget }] = whole ?? [null, null, null, null, {}];
    const open = box().querySelector(".behind")?.open;
    fill(box(),
      whole ? [drawLately(days), drawState(idle)] : el("p", { class: "note", text: "What percached does by itself belongs to all spaces, and this token is for one space." }),
      changed && changed.entries.length > 0 ? drawChanged(changed.entries) : null,
      el("details", { class: "behind", open }, el("summary", { text: "How this works" }), el("div", { class: "stack" },
        el("p", { class: "soft small", text: "While you ask nothing, percached reads new documents ahead, thinks of questions that you may ask, and prepares their answers. It stops at once when you ask." }),
        whole ? [drawQueue(queue.jobs), drawLedger(ledger), placements.length > 0 ? drawPlacements(placements) : null, drawBudget(budget)] : null,
        predicted ? drawPredicted(predicted) : null)));
  } catch (e) {
    fill(box(), wrongLine(e));
  }
}

const states = { working: "Working", idle: "Nothing to do", waiting: "Waiting", paused: "Paused" };

function drawState(i) {
  const until = (r) => (moment(r.until) ? `, until ${moment(r.until)}` : "");
  const { used, left } = i.window;
  return el("section", { class: "card stack tight", "aria-label": "Now" },
    el("div", { class: "row between" },
      el("h2", { id: "idle-state", "data-state": i.state, text: i.running ? `Now: ${kinds[i.running.kind] ?? i.running.kind}` : states[i.state] ?? i.state }),
      here.may.admin ? buttons(i) : null),
    el("ul", { class: "plain" }, i.reasons.map((r) => el("li", { text: `${reasonOf(r)}${until(r)}.` }))),
    el("p", { class: "soft small", text: `${i.windows.length > 0 ? "In this time" : "Today"}: ${seconds(used.compute_seconds)} of work, at most ${seconds(used.compute_seconds + left.compute_seconds)}.` }),
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
      await done(`${plural(d.done, "piece")} of work done in ${seconds(d.seconds)}${d.failed ? `, ${count(d.failed)} failed` : ""}${why}.`);
    }, wrong, { id: "idle-run", class: "main", "aria-disabled": draining ? "true" : null }) : null,
    i.state === "paused"
      ? worker("Resume", async () => { await call("POST", "v1/idle/resume"); await done("percached works again while you are away."); }, wrong, { id: "idle-toggle" })
      : worker("Pause", async () => { await call("POST", "v1/idle/pause"); await done("It is paused until you resume it."); }, wrong, { id: "idle-toggle" }));
}

// What was prepared since yesterday, and what of all that was prepared was used.
function drawLately(days) {
  const accounts = days[1].since;
  const sum = (key) => accounts.reduce((n, a) => n + a[key], 0);
  const done = accounts.filter((a) => prepared[a.kind] && a.jobs > 0).map((a) => prepared[a.kind](a.jobs));
  const did = done.length === 0 ? "percached had nothing to prepare" : `percached ${list(done)}, in ${seconds(sum("seconds"))} of work`;
  const saved = sum("uses") === 0 ? "" : `; your questions used what it had prepared ${plural(sum("uses"), "time")}, which saved ${seconds(sum("earned_seconds"))} of waiting`;
  return el("section", { class: "card stack tight", "aria-labelledby": "idle-lately" },
    el("h2", { id: "idle-lately", text: "Since yesterday" }),
    el("p", { class: "lead", text: `${did}${saved}.` }),
    drawDays(days));
}

// Answers that are other than those the user knows.
function drawChanged(entries) {
  return part("New answers to questions you asked",
    el("p", { class: "soft small", text: "Documents came or changed, and percached asked again." }),
    drawTable("New answers", ["Question", "Answer now", "Since"], entries.map((e) => [e.question, e.answer, moment(e.made)])));
}

