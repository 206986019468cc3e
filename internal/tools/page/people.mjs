// Test steps about what people do: follow up, take back, search, choose settings.
import assert from "node:assert/strict";
import { ask, enter, open, visit } from "./browser.mjs";

/** "Wrong answer" has an undo; it is done when the user goes on or leaves. */
export async function takenBack(page, daemon) {
  const vetoes = async () => (await daemon.call("GET", "v1/spaces/mail/entries")).bank.vetoes;
  const wrong = page.getByRole("button", { name: "Wrong answer" });
  const before = await vetoes();
  await wrong.click();
  await page.getByRole("button", { name: "Undo" }).click();
  assert.ok(await wrong.evaluate((e) => e === document.activeElement), "the focus is back on the button");
  assert.equal(await ask(page, "what is the BUDGET for heron"), "answer_hit");
  assert.equal(await vetoes(), before);
  await wrong.click();
  await page.locator(".note", { hasText: "Noted: this question will not get this answer again." }).waitFor();
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.locator("#answer-outcome:not([data-outcome=answer_hit])").waitFor();
  assert.equal(await page.locator("#answer-question").textContent(), "what is the BUDGET for heron");
  assert.equal(await vetoes(), before + 1);
}

/** The passages are on the page before the first word of the answer. */
export async function early(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("mail");
  await page.evaluate(() => {
    globalThis.seen = [];
    const text = () => document.getElementById("answer-text").textContent;
    new MutationObserver(() => globalThis.seen.push([document.querySelectorAll("#answer-sources .citation").length, text() !== ""])).observe(document.getElementById("answer"), { childList: true, subtree: true });
  });
  await ask(page, "Who calibrates the gauges for Port Ellery?");
  const seen = await page.evaluate(() => globalThis.seen);
  assert.ok(seen.some(([sources, begun]) => sources > 0 && !begun), JSON.stringify(seen));
  await page.locator("#question").fill("x".repeat(8193));
  await page.keyboard.press("Enter");
  await page.getByText("The question is too long").waitFor();
  assert.deepEqual(faults, []);
  await close();
}

/** A question begins a conversation; the next continues it; it is listed, opened and deleted. */
export async function conversed(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base, { viewport: { width: 390, height: 844 } });
  const stored = async () => (await daemon.call("GET", "v1/spaces/small/conversations")).conversations;
  await daemon.call("POST", "v1/spaces", { name: "small", kind: "notes" });
  await daemon.call("POST", "v1/spaces/small/documents?wait=true", { documents: [{ key: "a", title: "Boiler", text: "The boiler service is on Thursday 12 June at 9:30." }] });
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("small");
  await page.getByText("None yet. Each question begins one, and you can follow up.").waitFor();
  await ask(page, "When is the boiler service?");
  await page.getByLabel("Follow-up question").fill("And at what time is it?");
  await page.keyboard.press("Enter");
  await page.locator("#answer[data-state=done]", { hasText: "And at what time is it?" }).waitFor();
  await page.locator("#talk-list li", { hasText: "When is the boiler service?" }).waitFor();
  assert.ok(await page.evaluate(() => document.activeElement.id === "follow"), "the next follow-up can be typed");
  const [talk, ...others] = await stored();
  assert.deepEqual([talk.title, talk.count, others.length], ["When is the boiler service?", 4, 0]);

  await page.reload();
  await page.locator("#view-ask").waitFor();
  assert.equal(await page.locator("#follow").isVisible(), false);
  await page.locator("#talks-list .link", { hasText: "When is the boiler service?" }).click();
  await page.locator("#talk-list li").nth(1).waitFor();
  await page.locator("#follow").waitFor();
  await page.getByRole("button", { name: "Delete the conversation When is the boiler service?" }).click();
  await page.locator("#asker-form").getByRole("button", { name: "Delete" }).click();
  await page.getByText("None yet. Each question begins one, and you can follow up.").waitFor();
  assert.equal(await page.locator("#talk").isVisible(), false);
  assert.deepEqual(await stored(), []);
  assert.deepEqual(faults, []);
  await close();
}

/** Expected questions that nobody asked are offered, those that are ready first. */
export async function offered(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  const like = { id: "p", space: "small", from: "knowledge", chunks: [], made: "2026-01-01T00:00:00Z", populated: false, hits: 0 };
  await page.route("**/small/predictions", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...await response.json(), predictions: [
      { ...like, question: "Not ready?" }, { ...like, question: "Asked before?", populated: true, hits: 1 }, { ...like, question: "When is the boiler service?", populated: true },
    ] } });
  });
  await enter(page, daemon.base, daemon.token);
  await page.locator("#space").selectOption("small");
  await page.locator("#expected-list button").first().waitFor();
  assert.deepEqual(await page.locator("#expected-list button").allTextContents(), ["When is the boiler service?", "Not ready?"]);
  await page.locator("#expected-list button").first().click();
  await page.locator("#answer[data-state=done]").waitFor();
  assert.equal(await page.locator("#answer-question").textContent(), "When is the boiler service?");
  assert.equal(await page.locator("#expected").isVisible(), false);
  assert.deepEqual(faults, []);
  await close();
}

/** A search finds passages by words of their text, marks these, and opens the document. */
export async function found(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token, "documents");
  await page.locator("#space").selectOption("small");
  await page.locator("#documents-find").fill("Thursday (june");
  const passage = page.locator("#passages-list .citation").first();
  await passage.waitFor();
  assert.deepEqual(await passage.locator("mark").allTextContents(), ["Thursday", "June"]);
  await passage.click();
  await page.locator("#reader .chunk.cited", { hasText: "The boiler service" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#documents-find").fill("");
  await page.locator("#passages").waitFor({ state: "hidden" });
  assert.deepEqual(faults, []);
  await close();
}

/** Settings are changed and the page says how to keep them. */
export async function set(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  const value = async (key) => (await daemon.call("GET", "v1/config")).settings.find((s) => s.key === key).value;
  const kept = (line) => page.locator("#settings pre", { hasText: line }).waitFor();
  await enter(page, daemon.base, daemon.token, "settings");
  await page.getByLabel("On battery").focus();
  await page.getByLabel("On battery").selectOption("0.6");
  await kept("min-battery = 0.6");
  assert.ok(await page.evaluate(() => document.activeElement.id === "set-battery"), "the focus stays");
  await page.getByLabel("Work by itself").selectOption("daily");
  await page.getByLabel("From").fill("22:30");
  await kept("windows = 30 22");
  assert.match(await value("windows"), /^30 22 \* \* \* 7h30m/);
  assert.equal(await page.getByLabel("To", { exact: true }).inputValue(), "06:00");
  await page.getByLabel("Work by itself").selectOption("any");
  await page.waitForFunction(() => !document.getElementById("set-from"));
  assert.equal(await value("windows"), "");
  await page.getByLabel("Prepare answers to questions I may ask").uncheck();
  await kept("prediction = off");
  await page.getByLabel("Prepare answers to questions I may ask").check();
  await kept("prediction = both");
  await page.locator("#set-bank").selectOption("50MiB");
  await page.locator("#settings", { hasText: "of 50 MB used" }).waitFor();
  await page.getByRole("button", { name: "Clear the list of my questions" }).click();
  await page.locator("#asker-form").getByRole("button", { name: "Cancel" }).click();
  await daemon.call("PATCH", "v1/config", { "min-battery": "0.4", "charging-only": "true" });
  assert.deepEqual(faults, []);
  await close();
}

/** A mail of Monday morning in Europe is one of Sunday night in Hawaii. */
export async function dated(browser, daemon) {
  for (const [timezoneId, locale, day] of [["Pacific/Honolulu", "en-US", "Feb 2, 2025"], ["Europe/Berlin", "de-DE", "3 Feb 2025"]]) {
    const { page, faults, close } = await open(browser, daemon.base, { timezoneId, locale });
    await enter(page, daemon.base, daemon.token, "documents");
    await page.locator("#space").selectOption("mail");
    await page.locator("#documents-find").fill("garden gate");
    await page.locator("#documents-count", { hasText: /^1 with/ }).waitFor();
    assert.equal(await page.locator(".doc .when").textContent(), day);
    assert.deepEqual(faults, []);
    await close();
  }
}
