// Test steps about computed answers and their citations.
import assert from "node:assert/strict";
import { ask, enter, open } from "./browser.mjs";

const long = Array.from({ length: 40 }, (_, i) => `In week ${i} the gate of the garden was painted, and its code stayed 7431, as number ${i * 17} of the list of ${i + 3} says, which hangs in the shed beside the ladder and the two brushes.`).join("\n\n");

/** A computed answer can be marked as wrong; it is then deleted. */
export async function disowned(page, daemon) {
  const question = "When does the boathouse get its new door code?";
  assert.notEqual(await ask(page, question), "answer_hit");
  await page.getByRole("button", { name: "Answer anew" }).waitFor();
  const stored = async () => (await daemon.call("GET", "v1/spaces/mail/entries?limit=1000")).entries.filter((e) => e.question === question).length;
  assert.equal(await stored(), 1);
  await page.getByRole("button", { name: "Wrong answer" }).click();
  await page.locator(".note", { hasText: "Noted: this answer will not be given again." }).waitFor();
  assert.equal(await stored(), 1, "it can be taken back");
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.locator("#answer-outcome:not([data-outcome=answer_hit])").waitFor();
  assert.equal(await stored(), 1, "the new one");
  assert.equal(await ask(page, question), "answer_hit");
  await page.getByRole("button", { name: "Answer anew" }).click();
  await page.locator("#answer-outcome:not([data-outcome=answer_hit])").waitFor();
}

/** Chunks of one document share a card; each opens the document at its place. */
export async function together(browser, daemon) {
  await daemon.call("POST", "v1/spaces", { name: "long" });
  await daemon.call("POST", "v1/spaces/long/documents?wait=true", { documents: [{ key: "a", title: "Garden", text: long }] });
  const { page, faults, close } = await open(browser, daemon.base, { viewport: { width: 390, height: 600 } });
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("long");
  await ask(page, "What is the code of the garden gate?");
  const card = page.locator(".cited-chunks");
  const chunks = await card.locator(".citation").count();
  assert.ok(chunks > 1, `${chunks} passages`);
  assert.equal(await page.locator(".cards > li").count(), 1);
  await card.getByText(`${chunks} passages`).waitFor();
  const second = card.locator(".citation").nth(1);
  const quote = (await second.textContent()).slice(0, 60);
  await second.click();
  const cited = page.locator("#reader .chunk.cited");
  await cited.waitFor();
  assert.ok((await cited.textContent()).replace(/\s+/g, " ").includes(quote));

  assert.equal(await page.evaluate(() => document.activeElement.id), "reader-title", "the focus is on the heading");
  for (const name of ["Forget this document", "Close"]) {
    const box = await page.locator("#reader").getByRole("button", { name }).evaluate((e) => {
      const [own, room] = [e.getBoundingClientRect(), e.closest("dialog").getBoundingClientRect()];
      return own.top >= room.top && own.bottom <= room.bottom && own.bottom <= innerHeight && own.left >= room.left && own.right <= room.right;
    });
    assert.ok(box, `${name} is seen whole`);
  }
  await page.getByRole("button", { name: "Forget this document" }).click();
  await page.locator("#asker-form .grave", { hasText: "Forget it" }).waitFor();
  assert.deepEqual(faults, []);
  await close();
}

const walk = "Ana went to the lighthouse at Port Ellery with Samir. The keeper showed them the lamp and said that storms break a window every winter. They saw gulls on the rocks and ate soup in the harbour. Ana wants to go back with her sister when the ferry runs again.";

/** The page does not show an answer that no document contains: asked for a day, the model names a place. */
export async function honest(browser, daemon) {
  await daemon.call("POST", "v1/spaces", { name: "walks", kind: "notes" });
  await daemon.call("POST", "v1/spaces/walks/documents?wait=true", { documents: [{ key: "a", title: "walk", text: walk }] });
  const { page, faults, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("walks");
  await ask(page, "When did Ana visit the lighthouse at Port Ellery?");
  await page.locator("#answer-text", { hasText: "Not sure; the documents say: Ana went to the lighthouse at Port Ellery" }).waitFor();
  assert.deepEqual(await page.locator("#answer-text mark").allTextContents(), ["Ana", "lighthouse", "Port Ellery"]);
  await page.locator("#answer-doubted", { hasText: "The documents do not contain the model's answer" }).waitFor();
  assert.equal((await daemon.call("GET", "v1/spaces/walks/entries")).entries.length, 0);
  assert.deepEqual(faults, []);
  await close();
}
