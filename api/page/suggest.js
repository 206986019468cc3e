// What one may ask: questions that percached expects and nobody asked so far.
import { get } from "./api.js";
import { $, button, el, fill, show } from "./dom.js";
import { at, here } from "./here.js";

const most = 4; // suggestions

/** Hides the suggestions. */
export const hide = () => show($("expected"), false);

/** Draws the suggestions; ask asks one. wanted says whether there is still room for them. */
export async function suggest(ask, wanted) {
  if (!here.space || !wanted()) return hide();
  const space = here.space;
  const { predictions } = await get(at("predictions"));
  if (space !== here.space || !wanted()) return;
  const ready = (p) => Number(p.populated);
  const some = predictions.filter((p) => p.hits === 0).sort((a, b) => ready(b) - ready(a)).slice(0, most);
  fill($("expected-list"), some.map((p) => el("li", {}, button(p.question, () => ask(p.question), { class: "outline" }))));
  show($("expected"), some.length > 0);
}
