// A chart of the last seven days: how long percached worked by itself, and how much waiting it saved.
import { get } from "./api.js";
import { el, svg } from "./dom.js";
import { seconds, weekday } from "./words.js";

const shown = 7; // days
const size = { width: 360, height: 150, left: 52, bottom: 24, top: 10 };

/** Reads the days, today first: the accounts since each, and what was worked and saved on it. */
export async function readDays() {
  const starts = Array.from({ length: shown }, (_, i) => new Date(Date.now() - i * 24 * 3600 * 1000));
  const all = await Promise.all(starts.map((at) => get(`v1/idle/ledger?since=${at.toISOString()}`)));
  const total = (i, key) => (i < 0 ? 0 : all[i].accounts.reduce((n, a) => n + a[key], 0));
  const on = (i, key) => Math.max(0, total(i, key) - total(i - 1, key)); // the ledger sums up to now
  return starts.map((at, i) => ({ at, since: all[i].accounts, worked: on(i, "seconds"), saved: on(i, "earned_seconds") }));
}

/** Draws the days, the oldest first; nothing if there was no work. */
export function drawDays(days) {
  const most = Math.max(...days.flatMap((d) => [d.worked, d.saved]));
  if (most === 0) return null;
  const step = (size.width - size.left) / shown;
  const room = size.height - size.top - size.bottom;
  const bar = (x, amount, name) => svg("rect", { class: `day ${name}`, x, width: step / 3, rx: 3, y: size.top + room * (1 - amount / most), height: Math.max(amount > 0 ? 2 : 0, room * amount / most) });
  const oldest = [...days].reverse();
  const words = oldest.filter((d) => d.worked + d.saved > 0).map((d) => `${weekday(d.at)}: ${seconds(d.worked)} of work, ${seconds(d.saved)} of waiting saved`).join("; ");
  return el("div", { class: "stack tight" },
    svg("svg", { class: "chart days", viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": `The last seven days. ${words}` },
      [[1, seconds(most)], [0, "0 s"]].map(([share, text]) => [
        svg("line", { class: "grid", x1: size.left, x2: size.width, y1: size.top + room * (1 - share), y2: size.top + room * (1 - share) }),
        svg("text", { class: "axis", x: size.left - 8, y: size.top + room * (1 - share) + 4, "text-anchor": "end", text }),
      ]),
      oldest.map((d, i) => {
        const x = size.left + i * step + step / 6;
        return [bar(x, d.worked, "worked"), bar(x + step / 3, d.saved, "saved"), svg("text", { class: "axis", x: x + step / 3, y: size.height - 6, "text-anchor": "middle", text: i === shown - 1 ? "today" : weekday(d.at) })];
      })),
    el("ul", { class: "legend small" },
      el("li", {}, el("span", { class: "dot look", "aria-hidden": "true" }), "work while you were away"),
      el("li", {}, el("span", { class: "dot load", "aria-hidden": "true" }), "waiting saved")));
}
