// Formats numbers, times and outcomes.
const many = new Intl.NumberFormat("en");

/** Capitalises a text. */
export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const count = (n) => many.format(n);

/** "1 chunk", "3 chunks". */
export const plural = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

/** "a", "a and b", "a, b and c". */
export const list = (texts) => texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;

/** Formats milliseconds with sensible precision. */
export function ms(t) {
  if (t < 0.995) return `${Number(t.toPrecision(2))} ms`;
  if (t < 9.95) return `${Number(t.toFixed(1))} ms`;
  if (t < 1000) return `${Math.round(t)} ms`;
  return seconds(t / 1000);
}

export function seconds(s) {
  if (s === 0) return "0 s";
  if (s < 1) return `${Number(s.toPrecision(2))} s`;
  if (s < 10) return `${Number(s.toFixed(1))} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return `${(s / 3600).toFixed(1)} h`;
}

/** Formats a share. */
export const percent = (s) => `${Number((100 * s).toPrecision(3))} %`;

export function bytes(n) {
  for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["KB", 2 ** 10]]) {
    if (n >= size) return `${(n / size).toFixed(n >= 10 * size ? 0 : 1)} ${unit}`;
  }
  return `${n} B`;
}

const given = (t) => t && !t.startsWith("0001-");

/** Formats a day; "" if it is unknown. */
export const day = (t) => given(t) ? new Date(t).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" }) : "";

/** Formats a time, without the day if it is today. */
export function moment(t) {
  if (!given(t)) return "";
  const at = new Date(t);
  const clock = at.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return at.toDateString() === new Date().toDateString() ? clock : `${day(t)}, ${clock}`;
}

/** The outcomes: name, sentence and shape. */
export const outcomes = {
  answer_hit: { name: "From the QA bank", short: "QA bank", about: "This question was answered before. The model did not run.", shape: "circle" },
  verified_hit: { name: "Confirmed by the model", short: "Confirmed", about: "A stored answer, confirmed by the model: it read this question's chunks and would have written the same words.", shape: "ring" },
  tensor_hit: { name: "From stored tensors", short: "Stored tensors", about: "The model had read some of these chunks before, and computed only the rest.", shape: "diamond" },
  miss: { name: "Computed", short: "Computed", about: "The model read everything anew. What it read is kept for the next question.", shape: "square" },
};

/** Groups of stages; times with other names are not stages. */
export const stages = [
  { name: "Looking up", class: "look", of: ["match_question", "retrieve", "match_tensors"] },
  { name: "Waiting", class: "wait", of: ["queue"] },
  { name: "Loading tensors", class: "load", of: ["load_tensors"] },
  { name: "Reading", class: "read", of: ["prefill"] },
  { name: "Writing the answer", class: "write", of: ["decode"] },
  { name: "Storing", class: "store", of: ["capture", "store"] },
];

/** The names of the gate's tests. */
export const tests = {
  answered: "has an answer", veto: "not vetoed", stale: "not stale", similarity: "near enough", expired: "not expired",
  overlap: "same documents", likeness: "asks the same", settings: "same settings", versions: "documents unchanged", fresh: "fresh enough",
};

export const origins = { asked: "asked", predicted: "predicted" };

/** The names of the kinds of idle work. */
export const kinds = {
  reembed: "making vectors with another model", remember: "looking for facts about you in what you asked", check: "looking whether newer documents bear on answers", refresh: "answering again what is stale",
  answer: "answering for real what came from the bank", abstract: "summing up new chunks", predict: "thinking of questions", history: "thinking of questions like those before",
  populate: "getting ready for predicted questions", decode: "writing answers", restore: "reading again what was evicted", calibrate: "comparing how the model reads best", warm: "reading ahead", clean: "taking away what was forgotten",
};

/** What jobs of a kind did, for those that prepare answers. */
export const prepared = {
  warm: (n) => `read ${plural(n, "chunk")} ahead`,
  populate: (n) => `got ready for ${plural(n, "predicted question")}`,
  refresh: (n) => `answered ${plural(n, "stale question")} again`,
  decode: (n) => `wrote ${plural(n, "answer")}`,
  restore: (n) => `read again what ${plural(n, "answer")} ${n === 1 ? "rests" : "rest"} on`,
};

const reasons = {
  foreground: "A question is being answered, or documents are being added", recent_request: "Waiting for a moment after the last question", window: "Outside of the time windows for idle work",
  device_stale: "Battery and temperature are unknown", paused: "Idle work is paused", nothing_due: "There is nothing to do",
};

/** Returns why idle work does not run. */
export const reasonOf = ({ code, text }) => reasons[code] ?? upper(text);
