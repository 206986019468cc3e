// Two dialogs: one asks for confirmation, one shows a document.
import { get, within } from "./api.js";
import { $, button, el, fill, wrongLine } from "./dom.js";
import { day, plural } from "./words.js";
import { wording } from "./wrong.js";

/**
 * Asks, and gives what was answered: true, the text of the field if one is named,
 * or null. Alone is the button yes where there is nothing to decide; grave is what
 * cannot be undone. What attempt throws is told, and the dialog stays as it is.
 */
export function ask({ title, text, yes, field, value = "", alone = false, grave = false, attempt = async () => {} }) {
  const dialog = $("asker");
  const form = $("asker-form");
  const input = field ? el("input", { id: "asker-field", type: "text", required: true, autocomplete: "off", "aria-describedby": "asker-wrong" }) : null;
  if (input) input.value = value;
  return new Promise((done) => {
    let answer = null;
    const wrong = el("p", { class: "wrong", id: "asker-wrong", role: "alert" });
    fill(form,
      el("h2", { id: "asker-title", text: title }),
      el("p", { text }),
      input ? el("label", { for: "asker-field", class: "field wide" }, field, input) : null,
      wrong,
      el("div", { class: "row end" },
        alone ? null : button("Cancel", () => dialog.close()),
        el("button", { type: "submit", class: grave ? "grave" : "main", text: yes })));
    form.onsubmit = async (e) => {
      e.preventDefault();
      const given = input ? input.value.trim() : true;
      if (!given) return;
      try {
        await attempt(given);
      } catch (problem) {
        wrong.textContent = wording(problem);
        input?.focus();
        return;
      }
      answer = given;
      dialog.close();
    };
    dialog.addEventListener("close", () => done(answer), { once: true });
    dialog.showModal();
    (input ?? form.querySelector("button")).focus();
    input?.select();
  });
}

/** Shows a document and the cited chunk. If forget is given, it offers to delete the document. */
export async function read(space, document, chunk, forget) {
  const dialog = $("reader");
  const title = el("h2", { id: "reader-title", tabindex: "-1", text: "Loading ..." });
  const about = el("p", { class: "soft small" });
  const body = el("div", { class: "sheet-body" });
  const foot = el("div", { class: "sheet-foot row between" }, button("Close", () => dialog.close()));
  fill($("reader-sheet"), el("div", { class: "sheet-head" }, title, about), body, foot);
  dialog.showModal();
  title.focus();
  let d;
  try {
    d = await get(within(space, "documents", document));
  } catch (e) {
    fill(body, wrongLine(e));
    return;
  }
  title.textContent = d.title || "Untitled";
  about.textContent = [d.source, day(d.date), d.format, plural(d.words, "word")].filter(Boolean).join(" · ");
  const parts = d.text.map((c) => el("p", { class: c.chunk === chunk ? "chunk cited" : "chunk", "data-chunk": c.chunk },
    c.chunk === chunk && d.text.length > 1 ? el("span", { class: "tag", text: "This passage" }) : null, c.body));
  fill(body, el("div", { class: "text", tabindex: "0", role: "region", "aria-label": "Text of the document" }, parts));
  if (forget) foot.prepend(button("Forget this document", async () => { if (await forget(d)) dialog.close(); }, { class: "bad" }));
  if (d.text.length > 1) body.querySelector(".cited")?.scrollIntoView();
}
