// A table with a caption for screen readers. On a small screen each row becomes a card, with the
// heading before each cell.
import { el } from "./dom.js";

export const drawTable = (caption, heads, rows) => el("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
  el("table", {},
    el("caption", { class: "unseen", text: caption }),
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col", text: h })))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row", text: c } : { "data-head": heads[i], text: c })))))));
