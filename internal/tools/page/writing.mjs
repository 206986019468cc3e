// Test steps about the writing pad.
import assert from "node:assert/strict";
import { enter, open } from "./browser.mjs";

const begun = "Dear Margit, the scope of Heron is three tide gauges for Port";

/** Types into the pad at once, so that one request is sent, and waits for its continuations. */
async function type(page, text) {
  await page.locator("#write-text").focus();
  await page.keyboard.insertText(text);
  await page.locator("#told", { hasText: /^Continuation: / }).waitFor({ state: "attached" });
}

/** A continuation is shown, and is taken, changed and hidden with keys; nothing is stored. */
export async function written(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token, "write");
  await page.locator("#space").selectOption("mail");
  const pad = page.locator("#write-text");
  const grey = page.locator("#write-grey .next");
  const before = await daemon.call("GET", "v1/spaces/mail/history?limit=1000");
  await type(page, begun);
  const first = await grey.textContent();
  assert.match(first, /^ Ellery Harbour/);
  assert.equal(await pad.inputValue(), begun);
  await page.locator("#told", { hasText: `Continuation: ${first}` }).waitFor({ state: "attached" });
  await page.locator("#write-from", { hasText: "Heron" }).waitFor();

  await page.keyboard.press("Tab");
  assert.equal(await pad.inputValue(), begun + first);
  await page.keyboard.press("ControlOrMeta+z");
  assert.equal(await pad.inputValue(), begun);

  await page.keyboard.type(" Ell"); // confirms the first letters
  await page.locator("#write-offers button").first().waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await grey.textContent(), "");
  assert.equal(await page.locator("#write-offers").isVisible(), false);
  await page.keyboard.press("Tab"); // without a continuation it leaves the pad
  assert.equal(await pad.evaluate((e) => e === document.activeElement), false);

  await page.locator("#space").selectOption("long");
  assert.equal(await pad.inputValue(), "");
  assert.deepEqual(await daemon.call("GET", "v1/spaces/mail/history?limit=1000"), before);
  assert.deepEqual(faults, []);
  await close();
}

/** Alt with an arrow shows another continuation, and Tab takes the shown one. The built-in model gives one alone. */
export async function chosen(browser, daemon) {
  const { page, faults, close } = await open(browser, daemon.base);
  const texts = [" Ellery", " Harbour", " Heron"];
  await page.route("**/complete", (route) => route.fulfill({
    contentType: "text/event-stream", body: `event: done\ndata: ${JSON.stringify({ candidates: texts.map((text) => ({ text })), citations: [] })}\n\n`,
  }));
  await enter(page, daemon.base, daemon.token, "write");
  await page.locator("#space").selectOption("mail");
  const grey = page.locator("#write-grey .next");
  await page.locator("#write-text").pressSequentially("Port");
  await page.locator("#write-offers li").nth(2).waitFor();
  for (const [key, n] of [["ArrowDown", 1], ["ArrowUp", 0], ["ArrowUp", 2], ["ArrowDown", 0], ["ArrowDown", 1]]) {
    await page.keyboard.press(`Alt+${key}`);
    assert.equal(await grey.textContent(), texts[n]);
    await page.locator("#told", { hasText: `Continuation ${n + 1} of 3: ${texts[n]}` }).waitFor({ state: "attached" });
  }
  await page.keyboard.press("Tab");
  assert.equal(await page.locator("#write-text").inputValue(), "Port Harbour");
  assert.deepEqual(faults, []);
  await close();
}
