// The marks of the outcomes differ in shape, not only in colour.
import { svg } from "./dom.js";
import { outcomes } from "./words.js";

/** Draws the mark of an outcome at a point. */
export function form(outcome, x, y, r) {
  const shape = outcomes[outcome]?.shape ?? "square";
  if (shape === "circle") return svg("circle", { class: `mark ${outcome}`, cx: x, cy: y, r });
  if (shape === "ring") return svg("circle", { class: `mark ${outcome}`, cx: x, cy: y, r: 0.8 * r });
  if (shape === "diamond") {
    const d = 1.25 * r;
    return svg("path", { class: `mark ${outcome}`, d: `M${x} ${y - d}L${x + d} ${y}L${x} ${y + d}L${x - d} ${y}Z` });
  }
  return svg("rect", { class: `mark ${outcome}`, x: x - 0.9 * r, y: y - 0.9 * r, width: 1.8 * r, height: 1.8 * r, rx: 1 });
}

/** Returns the mark as a text symbol. */
export const mark = (outcome) => svg("svg", { class: "sign", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, form(outcome, 6, 6, 4));
