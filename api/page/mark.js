// The forms of the outcomes: they differ in shape, not in colour alone.
import { svg } from "./dom.js";
import { outcomes } from "./words.js";

/** The form of an outcome around a point. */
export function form(outcome, x, y, r) {
  const shape = outcomes[outcome]?.shape ?? "square";
  if (shape === "circle") return svg("circle", { class: `mark ${outcome}`, cx: x, cy: y, r });
  if (shape === "diamond") {
    const d = 1.25 * r;
    return svg("path", { class: `mark ${outcome}`, d: `M${x} ${y - d}L${x + d} ${y}L${x} ${y + d}L${x - d} ${y}Z` });
  }
  return svg("rect", { class: `mark ${outcome}`, x: x - 0.9 * r, y: y - 0.9 * r, width: 1.8 * r, height: 1.8 * r, rx: 1 });
}

/** The same as a sign in text. */
export const mark = (outcome) => svg("svg", { class: "sign", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, form(outcome, 6, 6, 4));
