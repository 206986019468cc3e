// The facts about the user in a space: list, add, edit, delete.
import { call, get } from "./api.js";
import { ask } from "./dialogs.js";
import { $, button, el, fill, show, tell, wrongLine } from "./dom.js";
import { at, here } from "./here.js";
import { day } from "./words.js";

let turn = 0; // results of earlier requests are not drawn

export function begin() {
  $("facts-add").addEventListener("click", async () => {
    const added = await ask({
      title: "Remember a fact", text: "Say it in a sentence, such as “I live in Bergen.”", yes: "Remember", field: "Fact",
      attempt: (text) => call("POST", at("facts"), { body: { text } }),
    });
    if (added) await changed("The fact is stored.");
  });
}

export function reset() {
  turn++;
  fill($("facts-list"));
}

export async function refresh() {
  show($("facts"), here.space !== "");
  show($("facts-add"), here.may.write);
  if (!here.space) return;
  const mine = ++turn;
  try {
    const { facts } = await get(at("facts"));
    if (mine === turn) draw(facts);
  } catch (e) {
    if (mine === turn) fill($("facts-list"), wrongLine(e));
  }
}

async function changed(text) {
  tell(text);
  await refresh();
}

async function edit(f) {
  const done = await ask({
    title: "Edit the fact", text: f.text, yes: "Save", field: "Value", value: f.value,
    attempt: (value) => call("PATCH", at("facts", f.id), { body: { value } }),
  });
  if (done) await changed("The fact is changed.");
}

async function remove(f) {
  const sure = await ask({
    title: "Delete this fact?", text: `percached deletes “${f.text}” and the answers that rest on it.`, yes: "Delete", grave: true,
    attempt: () => call("DELETE", at("facts", f.id)),
  });
  if (sure) await changed("The fact is deleted.");
}

function draw(facts) {
  if (facts.length === 0) return fill($("facts-list"), el("p", { class: "soft", text: "Nothing yet. percached notes what you say about yourself when you ask, such as “I live in Bergen”, and uses it only for questions that need it. You can also add a fact." }));
  const heads = ["Fact", "Since", "From", ...(here.may.write ? ["Change"] : [])];
  fill($("facts-list"), el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Facts about you" },
    el("table", {},
      el("caption", { class: "unseen", text: "Facts about you" }),
      el("thead", {}, el("tr", {}, heads.map((h) => el("th", { scope: "col", text: h })))),
      el("tbody", {}, facts.map((f) => el("tr", {},
        el("th", { scope: "row", text: f.text }),
        el("td", { "data-head": "Since", text: day(f.since) || (f.since ?? "") }),
        el("td", { "data-head": "From", text: f.heard ? `you said it on ${day(f.said)}` : `entered on ${day(f.said)}` }),
        here.may.write ? el("td", { "data-head": "Change" },
          button("Edit", () => edit(f), { class: "outline", "aria-label": `Edit: ${f.text}` }), " ",
          button("Delete", () => remove(f), { class: "outline", "aria-label": `Delete: ${f.text}` })) : null))))));
}
