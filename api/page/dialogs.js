// Two dialogs: one asks before something goes, one shows a document.
import { get, within } from "./api.js";
import { $, button, el, fill, wrongLine } from "./dom.js";
import { day, plural } from "./words.js";

/**
 * Asks, and gives what was answered: true, the text of the field if one is named,
 * or null. Alone is the button yes where there is nothing to decide.
 */
export function ask({ title, text, yes, field, value = "", alone = false }) {
  const dialog = $("asker");
  const form = $("asker-form");
  const input = field ? el("input", { id: "asker-field", type: "text", required: true, autocomplete: "off" }) : null;
  if (input) input.value = value;
  return new Promise((done) => {
    let answer = null;
    fill(form,
      el("h2", { id: "asker-title", text: title }),
      el("p", { text }),
      input ? el("label", { for: "asker-field", class: "field wide" }, field, input) : null,
      el("div", { class: "row end" },
        alone ? null : button("Cancel", () => dialog.close()),
        el("button", { type: "submit", class: "main", text: yes })));
    form.onsubmit = (e) => {
      e.preventDefault();
      answer = input ? input.value.trim() : true;
      if (answer) dialog.close();
    };
    dialog.addEventListener("close", () => done(answer), { once: true });
    dialog.showModal();
    (input ?? form.querySelector("button")).focus();
    input?.select();
  });
}

/** Shows a document, and in it the chunk that was cited. Forget is offered if it is given. */
export async function read(space, document, chunk, forget) {
  const dialog = $("reader");
  const sheet = $("reader-sheet");
  const close = button("Close", () => dialog.close(), { class: "quiet" });
  const head = el("div", { class: "row between sheet-head" }, el("h2", { id: "reader-title", text: "One moment" }), close);
  fill(sheet, head);
  dialog.showModal();
  close.focus();
  let d;
  try {
    d = await get(within(space, "documents", document));
  } catch (e) {
    fill(sheet, head, wrongLine(e));
    return;
  }
  head.firstElementChild.textContent = d.title || "Without a title";
  const parts = d.text.map((c) => el("p", { class: c.chunk === chunk ? "chunk cited" : "chunk", "data-chunk": c.chunk },
    c.chunk === chunk ? el("span", { class: "tag", text: d.text.length > 1 ? "The answer rests on this chunk" : "The answer rests on this" }) : null, c.body));
  fill(sheet, head,
    el("p", { class: "soft small", text: [d.source, day(d.date), d.format, plural(d.words, "word"), plural(d.chunks, "chunk")].filter(Boolean).join(" · ") }),
    el("div", { class: "text", tabindex: "0", role: "region", "aria-label": "Text of the document" }, parts),
    forget ? el("div", { class: "row end" }, button("Forget this document", async () => { if (await forget(d)) dialog.close(); }, { class: "bad" })) : null);
  if (d.text.length > 1) sheet.querySelector(".cited")?.scrollIntoView();
}
