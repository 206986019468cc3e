// How it works: what the model has read, and the questions over time as charts and as a table.
import { get } from "./api.js";
import { $, el, fill, part, show, wrongLine } from "./dom.js";
import { drawLatency, drawShares } from "./chart.js";
import * as grove from "./grove.js";
import { at, here } from "./here.js";
import { calm, hear } from "./live.js";
import { mark } from "./mark.js";
import { drawAll } from "./numbers.js";
import { drawTable } from "./table.js";
import { moment, ms, outcomes, plural } from "./words.js";

let asked = [];

const follow = calm(() => grove.refresh().catch(() => {})); // the next event tries again

export function begin(page) {
  grove.begin();
  hear(["open", "lost", "answer", "stored"], follow); // also while it is not seen: to know what was read before
  hear(["answer", "evicted", "upload", "forgotten", "stored"], page.refresh);
  hear(["answer"], (e) => { if (e.space === here.space) grove.light(e.data); });
  new ResizeObserver(calm(draw, 100)).observe($("time"));
}

export function reset() {
  asked = [];
  grove.reset();
  follow();
  fill($("time"));
  fill($("time-numbers"));
}

export async function refresh() {
  const space = here.space;
  try {
    $("time-space").textContent = space ? `In the space ${space}` : "";
    show($("time-all"), await drawAll($("time-numbers")));
    if (!space) return;
    const [{ questions }] = await Promise.all([get(`${at("history")}?limit=1000`), grove.refresh()]);
    if (space !== here.space) return;
    asked = questions;
    draw();
  } catch (e) {
    fill($("time"), wrongLine(e));
  }
}

function draw() {
  if ($("view-works").hidden || !here.space) return;
  if (asked.length === 0) return void fill($("time"), el("p", { class: "card calm soft", text: "There are no questions in this space yet." }));
  const open = $("time").querySelector("details")?.open;
  const width = Math.max(260, $("time").clientWidth - 2 * 24);
  const latest = [...asked].reverse();
  fill($("time"),
    part("Time to the answer",
      el("ul", { class: "legend small" }, Object.entries(outcomes).map(([name, o]) => el("li", {}, mark(name), o.short))),
      drawLatency(asked, width)),
    part("How much was new",
      el("p", { class: "soft small", text: "Of the twenty questions up to each one" }),
      drawShares(asked, width)),
    el("details", { class: "card" }, el("summary", { text: `The same as a table: ${plural(asked.length, "question")}` }),
      drawTable("Questions, the latest first", ["Question", "Asked", "How", "Took"],
        latest.slice(0, 200).map((q) => [q.question, moment(q.asked), outcomes[q.outcome]?.short ?? q.outcome, ms(q.took_ms)]))));
  if (open) $("time").querySelector("details").open = true;
}
