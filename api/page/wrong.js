// What went wrong, in words for people. A problem says more to programs than to them:
// which header to send, which field to correct.
const plain = {
  unauthorized: "This token is not known.",
  forbidden: "This token does not allow that.",
  not_found: "That is not there any more.",
  too_large: "That is too much at once. Send fewer or smaller files.",
  uri_too_long: "That text is too long. Use fewer words.",
  overloaded: "There is too much to do just now. Try again in a moment.",
  too_many_requests: "There is too much to do just now. Try again in a moment.",
  too_many_streams: "percached is open in too many tabs. Close one.",
  timeout: "It took too long. Try again.",
  starting: "percached is still starting. Try again in a moment.",
};

/** What was refused, and what helps where something does. */
export function wording(e) {
  const too = /^the question has \d+ bytes, it may have (\d+)$/.exec(e.body?.detail ?? "");
  if (too) return `The question is too long: about ${new Intl.NumberFormat("en").format(Number(too[1]))} letters are the most. Ask a shorter one.`;
  if (plain[e.kind]) return plain[e.kind];
  if (e.status >= 400 && e.status < 500) return sentences(e.message); // what would correct it is for programs
  return sentences(e.message, e.fix);
}

const sentences = (...texts) => texts.filter(Boolean).map((t) => t.trim()).map((t) => (/[.!?]$/.test(t) ? t : `${t}.`)).join(" ");
