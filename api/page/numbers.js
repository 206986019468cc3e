// Key figures of the space, and of all spaces if the token allows it.
import { get, ifAllowed } from "./api.js";
import { fill, number } from "./dom.js";
import { at, here } from "./here.js";
import { bytes, count, plural, seconds } from "./words.js";

/** Draws the figures of the space into a node. */
export async function drawSpace(node) {
  if (!here.space) return void fill(node);
  const [cache, { bank }] = await Promise.all([get(at("cache")), get(`${at("entries")}?limit=1`)]);
  fill(node,
    number("Stored answers", count(bank?.answered ?? 0), `used ${plural(bank?.hits ?? 0, "time")}`),
    number("Tensors", bytes(cache.bytes), plural(cache.slices, "slice")));
}

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
    number("From the QA bank", count(q.answer_hits), share(q.answer_hits)),
    number("Confirmed by the model", count(q.verified_hits), share(q.verified_hits)),
    number("From stored tensors", count(q.tensor_hits), share(q.tensor_hits)),
    number("Computed", count(q.misses), q.failed ? `${count(q.failed)} failed` : share(q.misses)),
    number("Time saved", `≈ ${seconds(q.saved_seconds)}`, `${plural(q.reused_tokens, "token")} reused`),
    number("Documents", count(s.documents), `${plural(s.chunks, "chunk")} in ${plural(s.spaces, "space")}`),
    number("Stored answers", count(s.answered), `${count(s.stale)} stale, ${bytes(s.bank_bytes)} of ${bytes(s.bank_limit)}`),
    number("Tensors", bytes(s.tensor_bytes), `${plural(s.slices, "slice")}, of ${bytes(s.tensor_limit)}`),
    number("Idle work, 30 days", seconds(idle.spent_seconds), `spent; ${seconds(idle.saved_seconds)} saved`),
  ];
}
