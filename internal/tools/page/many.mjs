// Test steps with many documents or several spaces.
import assert from "node:assert/strict";
import { enter, open, visit } from "./browser.mjs";

/** A search finds and counts documents on all pages of a large space. */
export async function found(browser, daemon) {
  await daemon.call("POST", "v1/spaces", { name: "many" });
  const documents = Array.from({ length: 1200 }, (_, i) => ({ key: `n${i}`, title: i < 1100 ? `Meter ${i}` : `Boiler ${i}`, text: `It is about number ${i}.` }));
  await daemon.call("POST", "v1/spaces/many/documents?wait=true", { documents });
  const { page, faults, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token, "documents");
  await page.locator("#space").selectOption("many");
  const total = page.locator("#documents-count");
  const rows = page.locator("#documents-list .doc");
  await total.filter({ hasText: /^1,200 documents, newest first$/ }).waitFor();
  await page.locator("#documents-find").fill(" bOILER ");
  await total.filter({ hasText: /^100 with this in the title or source, of 1,200 documents/ }).waitFor();
  assert.equal(await rows.count(), 100);
  assert.equal(await page.locator("#documents-more").isVisible(), false);
  await page.locator("#documents-find").fill("METER");
  await total.filter({ hasText: /^1,100 with this in the title or source, of 1,200 documents/ }).waitFor();
  await page.locator("#documents-more").click();
  assert.equal(await rows.count(), 200);
  await page.locator("#documents-find").fill("nothing has this");
  await total.filter({ hasText: /^0 with this in the title or source, of 1,200 documents$/ }).waitFor();

  // As in a space too large to sort: the next page is loaded on demand.
  await page.route("**/many/documents?*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), total: 90000 } });
  });
  await page.locator("#documents-find").fill("meter ");
  await total.filter({ hasText: /^1,000 or more with this in the title or source, of 90,000 documents, in no order$/ }).waitFor();
  while (await page.locator("#documents-more").isVisible()) {
    const before = await rows.count();
    await page.locator("#documents-more").click();
    await page.waitForFunction((n) => document.querySelectorAll("#documents-list .doc").length > n, before);
  }
  assert.equal(await rows.count(), 1100);
  assert.equal(new Set(await rows.locator(".link").allTextContents()).size, 1100);
  assert.deepEqual(faults, []);
  await close();
}

/** The page opens with the last used space, or with the one named default. */
export async function remembered(browser, daemon) {
  for (const name of ["alpha", "default"]) await daemon.call("POST", "v1/spaces", { name });
  const { page, faults, close } = await open(browser, daemon.base);
  const space = (of) => of.locator("#space").inputValue();
  await enter(page, daemon.base, daemon.token);
  assert.equal(await space(page), "default");
  await page.locator("#space").selectOption("mail");
  await page.getByRole("button", { name: "Sign out" }).click();
  await enter(page, daemon.base, daemon.token);
  assert.equal(await space(page), "mail");
  const other = await page.context().newPage();
  await enter(other, daemon.base, daemon.token);
  assert.equal(await space(other), "mail");
  await other.locator("#space").selectOption("alpha");
  await page.reload();
  await page.locator("#view-ask").waitFor();
  assert.equal(await space(page), "mail", "a tab keeps its own");
  assert.deepEqual(faults, []);
  await close();
}

const job = (kind, i, more = {}) => ({ id: String(i).padStart(16, "0"), kind, space: "mail", subject: `s${i}`, added: "2025-06-02T07:31:12Z", attempts: 0, parked: false, ...more });

/** Jobs of a kind are one expandable line; tables fit a phone. */
export async function queued(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base, { viewport: { width: 390, height: 844 } });
  const jobs = [...Array.from({ length: 128 }, (_, i) => job("warm", i)), job("predict", 128, { parked: true, attempts: 5, reason: "timeout" })];
  await page.route("**/v1/idle/queue", (route) => route.fulfill({ json: { jobs } }));
  await enter(page, daemon.base, daemon.token, "activity");
  await page.locator(".behind > summary").click();
  const line = page.locator(".jobs summary", { hasText: "Reading ahead: 128, due" });
  await line.click();
  await page.locator(".jobs[open]").getByText("78 more are not shown.").waitFor();
  assert.equal(await page.locator(".jobs[open] tbody tr").count(), 50);
  await page.locator(".jobs summary", { hasText: "Thinking of questions you may ask: 1, given up" }).click();
  await page.getByText("given up after 5 tries (timeout)").waitFor();
  assert.ok(await page.locator(".table").count() > 2, "the ledger is among them");
  const cut = () => [...document.querySelectorAll(".table")].filter((t) => t.scrollWidth > t.clientWidth).length;
  assert.equal(await page.evaluate(cut), 0, "tables that do not fit");
  assert.deepEqual(faults, []);
  await close();
}

/** Predicted questions are shown on request. */
export async function predicted(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  await page.route("**/mail/entries?limit=1000", async (route) => {
    const response = await route.fetch();
    const whole = await response.json();
    const like = { ...whole.entries[0], stale: false, hits: 0, origin: "predicted" };
    const more = [
      { ...like, id: "p1", question: "Predicted and answered?", answered: true, refused: false },
      { ...like, id: "p2", question: "Read ahead alone?", answered: false },
      { ...like, id: "p3", question: "Predicted and asked?", answered: true, refused: true, hits: 2 },
    ];
    await route.fulfill({ response, json: { ...whole, entries: [...whole.entries, ...more] } });
  });
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("mail");
  await visit(page, "memory");
  await page.locator(".entry", { hasText: "Predicted and asked?" }).getByText("does not know").waitFor();
  assert.equal(await page.getByText("Predicted and answered?").count(), 0);
  await page.getByLabel("Show expected questions (2)").check();
  for (const text of ["Predicted and answered?", "Read ahead alone?"]) await page.getByText(text).waitFor();
  assert.deepEqual(faults, []);
  await close();
}
