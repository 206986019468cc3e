// A table for people: the caption is for those who hear it.
import { el } from "./dom.js";

export const drawTable = (caption, heads, rows) => el("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption },
  el("table", {},
    el("caption", { class: "unseen", text: caption }),
    el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col", text: h })))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((c, i) => el(i === 0 ? "th" : "td", i === 0 ? { scope: "row", text: c } : { text: c })))))));
