// The gate of the space: what it aims at, what it returned, and what was found wrong.
import { call, get } from "./api.js";
import { $, el, fill, number, tell, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { count, percent } from "./words.js";

const box = () => $("gate");

export const reset = () => fill(box());

const states = {
  proven: "Only the same question, and one that clearly means the same, gets an earlier answer.",
  calibrated: "The estimate rests mostly on the calibration that comes with percached.",
  learnt: "The estimate rests mostly on answers of this space that were checked.",
  shut: "Too many checked answers were wrong. Until enough are right, only the same question, and one that clearly means the same, gets an earlier answer.",
};

/** Draws the gate of the current space, unless the user is choosing a share. */
export async function refresh(chosen = false) {
  if (!chosen && document.activeElement?.id === "gate-share") return;
  const space = here.space;
  const g = await get(at("gate"));
  if (space !== here.space) return;
  const open = box().querySelector("details")?.open;
  fill(box(), el("details", { class: "card", open },
    el("summary", { text: "How this works: when a question in other words gets an earlier answer" }),
    el("div", { class: "stack tight" },
      el("p", { class: "soft small", text: `The aim is that at most ${percent(g.max_wrong)} of the answers given again to a question in other words differ from a fresh answer. percached answers these questions again while you are away, and compares.` }),
      el("dl", { class: "numbers" },
        number("Given again", count(g.served), "in other words"),
        number("Checked", count(g.checked), "against a fresh answer"),
        number("Wrong", count(g.wrong), "of the checked ones"),
        g.threshold <= 1 ? number("Estimate", percent(g.estimate), `wrong; ${percent(g.low)} to ${percent(g.high)}`) : null),
      el("p", { id: "gate-state", "data-state": g.state, text: states[g.state] ?? g.state }),
      here.may.admin ? choice(g.max_wrong) : null)));
  if (chosen) $("gate-share")?.focus({ preventScroll: true });
}

// choice sets the maximum share of wrong answers in the space.
function choice(now) {
  const shares = [...new Set([0, 0.005, 0.01, 0.02, 0.05, 0.1, now])].sort((a, b) => a - b);
  const after = el("div", { role: "status" });
  const list = el("select", { id: "gate-share", onchange: async () => {
    try {
      await call("PATCH", at("settings"), { body: { max_wrong: Number(list.value) } });
      tell("Changed.");
      await refresh(true);
    } catch (e) {
      fill(after, wrongLine(e));
    }
  } }, shares.map((s) => el("option", { value: s, selected: s === now, text: s === 0 ? "0 %: only what clearly means the same" : percent(s) })));
  return el("div", { class: "stack tight" },
    el("label", { class: "field", for: "gate-share" }, "Wrong answers allowed ", list),
    el("p", { class: "soft small", text: "Lower it if you see wrong answers. Raise it if too few questions are answered at once." }), after);
}
