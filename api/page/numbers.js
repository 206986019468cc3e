// Key figures of all spaces, if the token allows it.
import { ifAllowed } from "./api.js";
import { fill, number } from "./dom.js";
import { here } from "./here.js";
import { bytes, count, plural, seconds } from "./words.js";

/** Draws the figures of all spaces. Returns whether the token allows it. */
export async function drawAll(node) {
  const status = here.may.whole ? await ifAllowed("v1/status") : null;
  fill(node, status ? long(status) : null);
  return status !== null;
}

function long({ questions: q, stored: s, idle }) {
  const all = q.answer_hits + q.verified_hits + q.tensor_hits + q.misses;
  const share = (n) => (all ? `${Math.round((100 * n) / all)} % of ${count(all)}` : "none yet");
  return [
    number("Answered before", count(q.answer_hits), share(q.answer_hits)),
    number("Confirmed", count(q.verified_hits), share(q.verified_hits)),
    number("Read before", count(q.tensor_hits), share(q.tensor_hits)),
    number("New", count(q.misses), q.failed ? `${count(q.failed)} failed` : share(q.misses)),
    number("Time saved", `≈ ${seconds(q.saved_seconds)}`, `${plural(q.reused_tokens, "token")} reused`),
    number("Documents", count(s.documents), `${plural(s.chunks, "passage")} in ${plural(s.spaces, "space")}`),
    number("Answers kept", count(s.answered), `${count(s.stale)} to be checked, ${bytes(s.bank_bytes)} of ${bytes(s.bank_limit)}`),
    number("What was read", bytes(s.tensor_bytes), `${plural(s.slices, "passage")}, of ${bytes(s.tensor_limit)}`),
    number("While you were away, 30 days", seconds(idle.spent_seconds), `of work; ${seconds(idle.saved_seconds)} saved`),
  ];
}
