// Two charts over the questions in order of time.
import { svg } from "./dom.js";
import { form } from "./mark.js";
import { moment, ms, outcomes, plural } from "./words.js";

const height = 220;
const edge = { left: 58, right: 12, top: 12, bottom: 34 };

/** Draws the duration of each question on a logarithmic axis. */
export function drawLatency(asked, width) {
  const took = asked.map((q) => Math.max(q.took_ms, 0.01));
  const low = Math.floor(Math.log10(Math.min(...took)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...took))));
  const y = (t) => between((Math.log10(t) - low) / (high - low));
  const ticks = [];
  for (let p = low; p <= high; p++) ticks.push([10 ** p, ms(10 ** p)]);
  const x = along(asked.length, width);
  const r = asked.length > 300 ? 2.4 : 4;
  const words = Object.entries(outcomes).map(([name, o]) => {
    const of = asked.filter((q) => q.outcome === name).map((q) => q.took_ms).sort((a, b) => a - b);
    return of.length > 0 ? `${o.short}: ${of.length}, in the middle ${ms(of[of.length >> 1])}` : `${o.short}: none`;
  }).join("; ");
  return frame(width, asked, x, `Time of ${plural(asked.length, "question")}. ${words}`, ticks.map(([t, text]) => [y(t), text]),
    asked.map((q, i) => {
      const point = form(q.outcome, x(i), y(took[i]), r);
      point.append(svg("title", { text: `${q.question}: ${ms(q.took_ms)}` }));
      return point;
    }));
}

const back = 20; // questions per share

/** Draws the shares of hits among the latest questions as stacked areas. */
export function drawShares(asked, width) {
  const x = along(asked.length, width);
  const share = (i, kinds) => {
    const of = asked.slice(Math.max(0, i + 1 - back), i + 1);
    return of.filter((q) => kinds.includes(q.outcome)).length / of.length;
  };
  const area = (kinds, name) => {
    const line = asked.map((_, i) => `${x(i)} ${between(share(i, kinds))}`);
    if (line.length === 1) line.push(`${width - edge.right} ${between(share(0, kinds))}`);
    const end = asked.length === 1 ? width - edge.right : x(asked.length - 1);
    return svg("path", { class: `area ${name}`, d: `M${x(0)} ${between(0)}L${line.join("L")}L${end} ${between(0)}Z` });
  };
  const last = asked.length - 1;
  const hits = share(last, ["answer_hit"]);
  const confirmed = share(last, ["answer_hit", "verified_hit"]);
  const any = share(last, ["answer_hit", "verified_hit", "tensor_hit"]);
  const percent = (s) => `${Math.round(100 * s)} %`;
  const words = `Of the latest questions ${percent(hits)} answered before, ${percent(confirmed - hits)} confirmed, ${percent(any - confirmed)} read before, ${percent(1 - any)} new`;
  const labels = [[hits / 2, hits, "Answered before"], [(hits + confirmed) / 2, confirmed - hits, "Confirmed"], [(confirmed + any) / 2, any - confirmed, "Read before"], [(1 + any) / 2, 1 - any, "New"]]
    .filter(([, size]) => size > 0.09)
    .map(([at, size, text]) => svg("text", { class: "area-label", x: width - edge.right - 8, y: between(at) + 4, "text-anchor": "end", text: `${text} ${percent(size)}` }));
  return frame(width, asked, x, words, [0, 0.5, 1].map((s) => [between(s), percent(s)]),
    [area(["answer_hit", "verified_hit", "tensor_hit"], "tensor_hit"), area(["answer_hit", "verified_hit"], "verified_hit"), area(["answer_hit"], "answer_hit"), ...labels]);
}

const between = (share) => edge.top + (1 - share) * (height - edge.top - edge.bottom);

const along = (n, width) => (i) => edge.left + (n === 1 ? 0.5 : i / (n - 1)) * (width - edge.left - edge.right - 8) + 4;

// frame draws axes and labels.
function frame(width, asked, x, words, ticks, picture) {
  const bottom = height - edge.bottom;
  const ends = asked.length === 1 ? [[0, "middle"]] : [[0, "start"], [asked.length - 1, "end"]];
  return svg("svg", { class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words },
    ticks.map(([y, text]) => [
      svg("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y, y2: y }),
      svg("text", { class: "axis", x: edge.left - 8, y: y + 4, "text-anchor": "end", text }),
    ]),
    picture,
    ends.map(([i, anchor]) => svg("text", { class: "axis", x: x(i), y: bottom + 16, "text-anchor": anchor, text: moment(asked[i].asked) })),
    svg("text", { class: "axis name", x: (edge.left + width - edge.right) / 2, y: height - 3, "text-anchor": "middle", text: "questions, in their order" }));
}
