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

// Dates are in the reader's time zone, and in the order of their kind of English.
const english = navigator.languages.find((l) => l.startsWith("en")) ?? "en-GB";

/** Formats a day; "" if it is unknown. */
export const day = (t) => given(t) ? new Date(t.length === 10 ? `${t}T00:00` : t).toLocaleDateString(english, { day: "numeric", month: "short", year: "numeric" }) : "";

/** Formats the day of the week. */
export const weekday = (t) => new Date(t).toLocaleDateString(english, { weekday: "short" });

/** Formats a time, without the day if it is today. */
export function moment(t) {
  if (!given(t)) return "";
  const at = new Date(t);
  const clock = at.toLocaleTimeString(english, { hour: "numeric", minute: "2-digit" });
  return at.toDateString() === new Date().toDateString() ? clock : `${day(t)}, ${clock}`;
}

/** The outcomes: name, sentence and shape. */
export const outcomes = {
  answer_hit: { name: "Answered before", short: "Answered before", about: "This question was answered before, so percached gave the answer that it had kept. The model did not run.", shape: "circle" },
  verified_hit: { name: "Confirmed", short: "Confirmed", about: "An answer that percached had kept. The model read this question's passages and would have written the same words.", shape: "ring" },
  tensor_hit: { name: "Read before", short: "Read before", about: "The model had read some of these passages before, and read only the rest.", shape: "diamond" },
  miss: { name: "New", short: "New", about: "The model read everything anew. percached keeps what it read for the next question.", shape: "square" },
};

/** Groups of stages; times with other names are not stages. */
export const stages = [
  { name: "Looking up", class: "look", of: ["match_question", "retrieve", "match_tensors"] },
  { name: "Waiting", class: "wait", of: ["queue"] },
  { name: "Loading what was read", class: "load", of: ["load_tensors"] },
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
  reembed: "reading all passages for another search model", remember: "looking for facts about you in what you asked", check: "looking whether new documents change answers", refresh: "answering again what may have changed",
  answer: "checking answers that were given again", abstract: "summing up new passages", predict: "thinking of questions you may ask", history: "thinking of questions like those before",
  populate: "getting ready for expected questions", decode: "writing answers", restore: "reading again what was removed for space", calibrate: "comparing how the model reads best", warm: "reading ahead", clean: "removing what was forgotten",
};

/** What jobs of a kind did, for those that prepare answers. */
export const prepared = {
  warm: (n) => `read ${plural(n, "passage")} ahead`,
  populate: (n) => `got ready for ${plural(n, "question")} you may ask`,
  refresh: (n) => `answered ${plural(n, "question")} again, because documents changed`,
  decode: (n) => `wrote ${plural(n, "answer")}`,
  restore: (n) => `read again what ${plural(n, "answer")} ${n === 1 ? "rests" : "rest"} on`,
};

const reasons = {
  foreground: "A question is being answered, or documents are being added", recent_request: "It waits for a moment after your last question", window: "It works only at the times that you set",
  device_stale: "Battery and temperature are unknown", memory: "Memory is scarce", paused: "It is paused", nothing_due: "There is nothing to do",
};

/** Returns why idle work does not run. */
export const reasonOf = ({ code, text }) => reasons[code] ?? upper(text);
