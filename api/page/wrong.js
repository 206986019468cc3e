// Error texts for users. A problem's own text addresses programs: which header to send, which field
// to correct.
const plain = {
  unauthorized: "This token is not known.",
  forbidden: "This token does not allow this.",
  not_found: "It does not exist any more.",
  too_large: "The upload is too large. Send fewer or smaller files.",
  uri_too_long: "The text is too long. Use fewer words.",
  overloaded: "percached is busy. Try again in a moment.",
  too_many_requests: "percached is busy. Try again in a moment.",
  too_many_streams: "percached is open in too many tabs. Close one.",
  quota_exceeded: "This access token has used up its quota. Try again later.",
  timeout: "The time limit was exceeded. Try again.",
  starting: "percached is still starting. Try again in a moment.",
};

/** Returns the error text, and the fix if there is one. */
export function wording(e) {
  if (plain[e.kind]) return plain[e.kind];
  if (e.status >= 400 && e.status < 500) return sentences(e.message); // the fix addresses programs
  return sentences(e.message, e.fix);
}

const sentences = (...texts) => texts.filter(Boolean).map((t) => t.trim()).map((t) => (/[.!?]$/.test(t) ? t : `${t}.`)).join(" ");
