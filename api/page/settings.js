// The settings that people change: when percached works by itself, its storage, what it remembers.
import { call, get } from "./api.js";
import { ask } from "./dialogs.js";
import { $, el, fill, part, tell, worker, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { hear } from "./live.js";
import { formatTime, parseTime } from "./quiet.js";
import { bytes, percent } from "./words.js";

const box = () => $("settings");
let news = null; // result of the last change

export function begin(page) {
  hear(["settings"], page.refresh);
}

export function reset() {
  news = null;
  fill(box());
}

export async function refresh() {
  if (box().contains(document.activeElement) && document.activeElement.matches("select, input")) return; // the user is choosing
  try {
    const [config, status] = here.may.admin ? await Promise.all([get("v1/config"), get("v1/status")]) : [null, null];
    draw(config?.settings ?? null, status);
  } catch (e) {
    fill(box(), wrongLine(e));
  }
}

function draw(settings, status) {
  fill(box(),
    settings ? [drawWork(valuesOf(settings)), drawStorage(valuesOf(settings), status.stored)] : el("p", { class: "note", text: "These settings apply to all spaces. Your token does not allow changing them." }),
    drawPrivacy(settings ? valuesOf(settings) : null),
    el("div", { id: "settings-news", role: "status" }, news),
    settings ? drawKept(settings.filter((s) => s.source === "runtime")) : null);
}

const valuesOf = (settings) => Object.fromEntries(settings.map((s) => [s.key, s.value]));

// change sets some settings at once.
async function change(changes) {
  try {
    const { settings } = await call("PATCH", "v1/config", { body: changes });
    news = null;
    tell("Changed.");
    const focus = document.activeElement?.id;
    draw(settings, await get("v1/status"));
    if (focus) $(focus)?.focus({ preventScroll: true });
  } catch (e) {
    news = wrongLine(e);
    fill($("settings-news"), news);
  }
}

// choice is a list of values with their words; the present value is always among them.
function choice(id, label, now, values, onchange) {
  const all = values.some(([value]) => value === now) ? values : [...values, [now, now]];
  const list = el("select", { id, onchange: () => onchange(list.value) }, all.map(([value, text]) => el("option", { value, selected: value === now, text })));
  return el("label", { class: "setting", for: id }, el("span", { text: label }), list);
}

function yes(id, label, now, onchange) {
  const tick = el("input", { type: "checkbox", id, checked: now, onchange: () => onchange(tick.checked) });
  return el("label", { class: "switch", for: id }, tick, el("span", { text: label }));
}

const hours = [["15m", "15 minutes"], ["30m", "30 minutes"], ["1h", "1 hour"], ["2h", "2 hours"], ["4h", "4 hours"], ["8h", "8 hours"], ["0s", "nothing"]];
const levels = [["charging", "only while charging"]].concat([0.2, 0.4, 0.6, 0.8].map((n) => [String(n), `above ${percent(n)}`]));

function drawWork(now) {
  const time = parseTime(now.windows);
  const kind = now.windows === "" ? "any" : time ? "daily" : "other";
  const times = [["any", "at any time"], ["daily", "only between"], ...(kind === "other" ? [["other", `as set: ${now.windows}`]] : [])];
  function field(id, name, label) {
    const input = el("input", { type: "time", id, value: time[name], required: true, "aria-label": label, onchange: () => { if (input.value) change({ windows: formatTime({ ...time, [name]: input.value }) }); } });
    return input;
  }
  return part("When it works by itself",
    el("p", { class: "soft small", text: "While you ask nothing, percached reads new documents ahead and prepares answers. It stops at once when you ask." }),
    yes("set-prediction", "Prepare answers to questions I may ask", now.prediction !== "off", (on) => change({ prediction: on ? "both" : "off" })),
    el("div", { class: "row" },
      choice("set-time", "Work by itself", kind, times, (to) => { if (to !== "other") change({ windows: to === "any" ? "" : formatTime({ from: "01:00", to: "06:00" }) }); }),
      time ? el("span", { class: "row tight" }, field("set-from", "from", "From"), "and", field("set-to", "to", "To")) : null),
    choice("set-battery", "On battery", now["charging-only"] === "true" ? "charging" : String(Number(now["min-battery"])), levels,
      (to) => change(to === "charging" ? { "charging-only": "true" } : { "charging-only": "false", "min-battery": to })),
    choice("set-budget", "At most in a day", now["budget-compute"], hours, (to) => change({ "budget-compute": to })));
}

const sizes = (...all) => all.map((s) => [s, s.replace("iB", "B").replace(/(\d)(?=\D)/, "$1 ")]);

function drawStorage(now, stored) {
  return part("Storage",
    choice("set-tensors", "What the model has read", now["tensor-limit"], [["auto", "as the disk allows"], ...sizes("128MiB", "256MiB", "512MiB", "1GiB", "2GiB", "4GiB", "8GiB", "16GiB")], (to) => change({ "tensor-limit": to })),
    meter("What the model has read", stored.tensor_bytes, stored.tensor_limit),
    choice("set-bank", "Answers", now["bank-limit"], sizes("10MiB", "50MiB", "100MiB", "200MiB", "500MiB"), (to) => change({ "bank-limit": to })),
    meter("Answers", stored.bank_bytes, stored.bank_limit),
    el("p", { class: "soft small", text: "With less room percached forgets what it used least, and reads it again when it is needed. Your documents stay." }));
}

const meter = (what, used, limit) => el("div", { class: "row tight" },
  el("meter", { min: 0, max: Math.max(limit, 1), value: used, "aria-label": `${what}: ${bytes(used)} of ${bytes(limit)} used` }),
  el("span", { class: "soft small", text: `${bytes(used)} of ${bytes(limit)} used` }));

function drawPrivacy(now) {
  const wrong = (e) => fill($("settings-news"), wrongLine(e));
  return part("What it remembers about you",
    now ? yes("set-memory", "Note what I say about myself when I ask", now.memory === "true", (on) => change({ memory: String(on) })) : null,
    here.space && here.may.write ? el("div", {}, worker("Clear the list of my questions", clear, wrong, { class: "outline" })) : null);
}

async function clear() {
  const sure = await ask({ title: "Clear the list of your questions?", text: `percached deletes the list of questions that you asked in the space ${here.space}. Answers and conversations stay.`, yes: "Clear", grave: true });
  if (!sure) return;
  await call("DELETE", at("history"));
  tell("The list of your questions is cleared.");
  news = el("p", { class: "note", text: "The list of your questions is cleared." });
  fill($("settings-news"), news);
}

// drawKept says how to keep changes, which percached itself forgets when it ends.
function drawKept(changed) {
  if (changed.length === 0) return null;
  return el("section", { class: "note stack tight", "aria-label": "To keep your changes" },
    el("p", { text: "Your changes are valid until percached ends. To keep them, put these lines into the file percached.conf in its data folder:" }),
    el("pre", {}, changed.map((s) => `${s.key} = ${s.value}`).join("\n")));
}
