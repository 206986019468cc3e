// Tests the page in a browser with a real percached. internal/tools/page.sh runs it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { barriers, jargon, wide } from "./access.mjs";
import { ask, enter, launch, open, press, visit } from "./browser.mjs";
import * as cited from "./cited.mjs";
import { start } from "./daemon.mjs";
import * as many from "./many.mjs";
import * as people from "./people.mjs";
import * as writing from "./writing.mjs";

const inbox = `${process.env.ROOT}/models/demo/inbox.mbox`;
const injection = "<img src=x onerror=\"document.title='broken'\"><script>alert(1)</script>";
const gate = `From: Ana <ana@example.com>
Subject: ${injection} Garden gate
Date: Mon, 03 Feb 2025 10:12:40 +0100
Message-ID: <gate@example.com>

The code of the garden gate is 7431. ${injection}
`;

let daemon;
let browser;
let opened; // the page on which most of it happens

before(async () => {
  daemon = await start(process.env.PERCACHED);
  // Background work would change the results of questions.
  await daemon.call("POST", "v1/idle/pause");
  browser = await launch();
}, { timeout: 120000 });

after(async () => {
  await browser?.close();
  await daemon?.end();
}, { timeout: 120000 });

// Each step builds on those before it.
let broken = false;

const step = (name, fn) => test(name, { timeout: 300000 }, async (t) => {
  if (broken) return t.skip("a step before it failed");
  broken = true;
  await fn();
  broken = false;
});

step("the page shows the progress of loading", async () => {
  const { page, faults, close } = await open(browser, daemon.base, { allowed: [503] });
  let go;
  const loaded = new Promise((done) => { go = done; });
  let held = true;
  loaded.then(() => { held = false; });
  await page.route("**/readyz", (route) => (held
    ? route.fulfill({ status: 503, contentType: "application/json", body: JSON.stringify({ ready: false, stage: "loading", progress: 0.42 }) })
    : route.continue()));
  await page.goto(`${daemon.base}/#token=${daemon.token}`);
  await page.getByText("percached loads the model: 42 %").waitFor();
  assert.equal(await page.locator("#door-progress").evaluate((e) => e.value), 0.42);
  go();
  await page.locator("#view-ask").waitFor();
  assert.deepEqual(faults, []);
  await close();
});

step("the page refuses a wrong token, signs in with the right one, and signs out", async () => {
  const { page, faults, close } = await open(browser, daemon.base, { allowed: [401] });
  await page.goto(`${daemon.base}/#token=wrong`);
  await page.getByText("This token is not known").waitFor();
  assert.equal(new URL(page.url()).hash, "#/ask");
  await page.locator("#token").fill(daemon.token);
  await page.keyboard.press("Enter");
  await page.locator("#view-ask").waitFor();
  await page.getByText("Begin with a space").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.locator("#door-form").waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.reload();
  await page.locator("#door-form").waitFor();
  assert.equal(await page.locator("#view-ask").isVisible(), false);
  assert.deepEqual(faults, []);
  await close();
});

step("the page signs in with the address's token and removes it from the address", async () => {
  opened = await open(browser, daemon.base);
  const { page } = opened;
  await enter(page, daemon.base, daemon.token);
  assert.equal(new URL(page.url()).hash, "#/ask");
  await page.reload();
  await page.locator("#view-ask").waitFor();
});

step("a space is created and documents are added", async () => {
  const { page } = opened;
  await page.getByRole("button", { name: "Create a space" }).click();
  await page.getByLabel("Name").fill("mail");
  await page.keyboard.press("Enter");
  await page.locator("#space option[value=mail]").waitFor({ state: "attached" });
  await page.getByText("There are no documents in this space yet.").waitFor();
  await page.getByRole("button", { name: "New space" }).click();
  await page.getByLabel("Name").fill("a/b");
  await page.keyboard.press("Enter");
  await page.locator("#asker-wrong", { hasText: "small letters, digits, dots" }).waitFor();
  assert.equal(await page.getByLabel("Name").inputValue(), "a/b");
  await page.getByLabel("Name").fill("mail");
  await page.keyboard.press("Enter");
  await page.locator("#asker-wrong", { hasText: "There is a space of this name already." }).waitFor();
  await page.locator("#asker-form").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("link", { name: "Add documents" }).click();

  await page.locator("#files").setInputFiles(inbox);
  const upload = page.locator(".upload").first();
  await upload.getByText("62 added").waitFor();
  await page.getByText("62 documents").waitFor();

  await page.locator("#files").setInputFiles([
    { name: "gate.eml", mimeType: "message/rfc822", buffer: Buffer.from(gate) },
    { name: "broken.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.4\n\0\xff broken") },
  ]);
  const results = page.locator(".upload").first().locator(".results li");
  await results.filter({ hasText: /not added: broken\.pdf: / }).waitFor();
  await results.filter({ hasText: /added: gate\.eml$/ }).waitFor();
  await page.getByText("63 documents").waitFor();
});

step("documents and questions are shown as text", async () => {
  const { page } = opened;
  await page.locator("#documents-find").fill("garden gate");
  await page.locator("#documents-count", { hasText: /^1 with this in the title or source, of 63 documents/ }).waitFor();
  const row = page.locator("#documents-list .doc");
  await row.filter({ hasText: "<img src=x" }).waitFor();
  await row.getByRole("button", { name: "Garden gate" }).first().click();
  await page.locator("#reader .chunk", { hasText: "<script>alert(1)</script>" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#documents-find").fill("");
  await visit(page, "ask");
  await ask(page, `${injection} What is the code of the garden gate?`);
  assert.match(await page.locator("#answer-question").textContent(), /^<img src=x/);
  assert.equal(await page.locator("main img[src=x], dialog img, main script").count(), 0);
  assert.doesNotMatch(await page.title(), /broken/);
  await page.locator(".tiny", { hasText: "tiny and often wrong" }).getByRole("button").click(); // it is told once
});

step("a question is answered and the tree highlights its path", async () => {
  const { page } = opened;
  await page.locator("#question").fill(" ");
  await page.keyboard.press("Enter");
  await page.getByText("Type a question first.").waitFor();
  assert.equal(await ask(page, "What is the budget for Heron?"), "miss");
  assert.equal(await page.getByText("Type a question first.").count(), 0);
  assert.equal(await page.locator("#answer-text").textContent(), "$46,000");
  assert.equal(await page.locator(".tiny").count(), 0);
  assert.match(await page.locator("#bar-times").getAttribute("aria-label"), /in all: .*Reading/);
  assert.match(await page.locator("#bar-reused").getAttribute("aria-label"), /of \d+ tokens and .* passages? had been read before/);
  await visit(page, "works");
  await page.waitForFunction(() => document.querySelectorAll("#tree .leaf.fresh").length > 0);
  assert.ok(await page.locator("#tree .leaf").count() >= 4);
  await visit(page, "ask");
});

step("the same question in other case comes from the bank, and the page says why", async () => {
  const { page } = opened;
  assert.equal(await ask(page, "what is the BUDGET for heron"), "answer_hit");
  await page.locator("#answer-outcome", { hasText: "Answered before" }).waitFor();
  await visit(page, "works");
  await page.waitForFunction(() => document.querySelectorAll("#tree .leaf.reused").length > 1 && !document.querySelector("#tree .leaf.fresh"));
  await visit(page, "ask");
  await page.locator("#why summary").click();
  await page.locator("#why .tests .passed", { hasText: "not vetoed" }).waitFor();
});

step("a tree of thousands of slices is drawn in part, and each dot has a label", async () => {
  const { page, faults, close } = await open(browser, daemon.base);
  const slice = (i) => ({ space: "mail", model: "m", placement: "parallel", depth: i ? 1 : 0, chunk: i ? `c${i}` : null, path: `p${i}`, tokens: 100 + i % 90, bytes: 5000, hits: 1000 - i });
  await page.route("**/cache/tree?*", (route) => route.fulfill({ json: { slices: Array.from({ length: 1000 }, (_, i) => slice(i)), more: true } }));
  await page.route("**/spaces/mail/cache", (route) => route.fulfill({ json: { bytes: 5230 * 5000, slices: 5230, hits: 9, groups: [] } }));
  await enter(page, daemon.base, daemon.token, "works");
  await page.getByText("4,230 not shown").waitFor();
  assert.equal(await page.locator("#tree .leaf").count(), 1000);
  await page.locator("#tree .leaf").nth(777).hover();
  await page.locator("#tree-node", { hasText: `${100 + 777 % 90} tokens` }).waitFor();
  assert.deepEqual(faults, []);
  await close();
});

step("a citation opens the document at its chunk", async () => {
  const { page } = opened;
  const citation = page.locator(".citation").first();
  const quote = (await citation.locator(".quote").textContent()).slice(0, 60);
  await citation.focus();
  await page.keyboard.press("Enter");
  const cited = page.locator("#reader .chunk.cited");
  await cited.waitFor();
  assert.ok((await cited.textContent()).replace(/\s+/g, " ").includes(quote));
  assert.deepEqual(await barriers(page), []);
  assert.match(await page.locator("#reader .sheet-head").textContent(), /mail from .* 2025/);
  await page.keyboard.press("Escape");
  await page.locator("#reader").waitFor({ state: "hidden" });
  assert.ok(await citation.evaluate((e) => e === document.activeElement), "the focus is back on the citation");
});

step("a wrong answer can be taken back, and is then not used again", () => people.takenBack(opened.page, daemon));

step("sources appear before the answer", () => people.early(browser, daemon));

step("questions form conversations", () => people.conversed(browser, daemon));

step("expected questions are offered", () => people.offered(browser, daemon));

step("passages are found by what they say", () => people.found(browser, daemon));

step("settings are changed in plain words", () => people.set(browser, daemon));

step("dates are in the reader's time zone", () => people.dated(browser, daemon));

step("a computed answer can be marked as wrong", () => cited.disowned(opened.page, daemon));

step("chunks of one document share a card with a complete dialog", () => cited.together(browser, daemon));

step("an answer that no document contains is not shown as one", () => cited.honest(browser, daemon));

step("a deleted document disappears from the list and the answers", async () => {
  const { page } = opened;
  const question = "What is the door code of the boathouse?";
  await ask(page, question);
  assert.equal(await ask(page, question), "answer_hit");
  const citation = page.locator(".citation").first();
  const title = await citation.locator(".about").textContent();
  await citation.click();
  await page.getByRole("button", { name: "Forget this document" }).click();
  const name = await page.locator("#reader-title").textContent();
  await page.getByRole("button", { name: "Forget it" }).click();
  const receipt = page.locator(".receipt");
  await receipt.getByText("No file of the data folder contains any of it.").waitFor();
  assert.match(await receipt.textContent(), /documents1passages[1-9]/);
  assert.match(await receipt.textContent(), /answers[1-9]/);
  await page.getByText("62 documents").waitFor();
  await page.locator("#documents-find").fill(name);
  await page.waitForFunction((t) => ![...document.querySelectorAll("#documents-list .link")].some((b) => b.textContent === t), name);
  await visit(page, "ask");
  assert.notEqual(await ask(page, question), "answer_hit");
  assert.ok(!(await page.locator("#answer-sources .about").allTextContents()).includes(title)); // the search draws passages of its own, later
});

step("a question can be stopped", async () => {
  const { page } = opened;
  let free;
  const held = new Promise((done) => { free = done; });
  await page.route("**/ask", async (route) => {
    await held;
    await route.abort().catch(() => {}); // the page has ended it
  });
  await page.locator("#question").fill("What would take long?");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped.").waitFor();
  assert.equal(await page.locator("#ask-stop").isVisible(), false);
  free();
  await page.unroute("**/ask");
});

step("every control is reachable by keyboard", async () => {
  const { page } = opened;
  await page.reload();
  await page.locator("#view-ask").waitFor();
  await page.locator("#talks-list button").first().waitFor();
  await page.locator("#question").focus();
  const reached = []; // all the way round
  for (let i = 0; i < 60 && !reached.includes("question"); i++) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim()));
  }
  for (const want of ["Skip to the content", "space", "space-new", "theme", "sign-out", "Ask", "Write", "Documents", "Memory", "Activity", "Settings", "How it works", "question", "ask-go", "Delete"]) {
    assert.ok(reached.includes(want), `${want} is reached: ${reached}`);
  }
  await visit(page, "works");
  await page.locator("#tree .leaf").first().waitFor();
  await page.locator("#tree").focus();
  await page.getByText("Instructions, with which each prompt begins").waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator("#tree-node", { hasText: /mail from/ }).waitFor();
  await page.locator("#nav a", { hasText: "Documents" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("#view-documents").waitFor();
  assert.ok(await page.evaluate(() => document.activeElement.id === "main"), "the focus is where the view begins");
});

step("stored answers are listed, found, vetoed and deleted", async () => {
  const { page } = opened;
  await visit(page, "memory");
  const entry = page.locator(".entry").filter({ has: page.locator(".q", { hasText: /garden gate/ }) });
  await entry.waitFor();
  await page.locator("#answers-find").fill("code of the gate in the garden");
  await page.locator(".entry .tag", { hasText: "% alike" }).first().waitFor();
  await page.locator("#answers-find").fill("");
  await page.locator("#answers-count", { hasText: /\d marked as wrong/ }).waitFor();
  await page.locator("#gate summary").click();
  await page.locator("#gate").getByText("at most 1 % of the answers").waitFor();
  await page.locator("#gate-share").selectOption("0.05");
  await page.locator("#gate").getByText("at most 5 % of the answers").waitFor();
  assert.equal((await daemon.call("GET", "v1/spaces/mail")).settings.max_wrong, 0.05);
  await page.locator("#gate-share").selectOption("0.01");
  await page.locator("#gate").getByText("at most 1 % of the answers").waitFor();
  const before = (await daemon.call("GET", "v1/spaces/mail/entries")).bank;
  await entry.getByRole("button", { name: /^Wrong answer to/ }).click();
  await page.getByLabel("Question", { exact: true }).and(page.locator("#asker-field")).fill("Which code has the shed?");
  await page.keyboard.press("Enter");
  await page.getByText(`${before.vetoes + 1} marked as wrong`).waitFor();
  await entry.getByRole("button", { name: /^Delete/ }).click();
  await page.locator("#asker-form").getByRole("button", { name: "Delete" }).click();
  await entry.waitFor({ state: "detached" });
});

step("predicted questions are shown on request", () => many.predicted(browser, daemon));

step("idle work is shown, run, resumed and paused", async () => {
  const { page } = opened;
  await daemon.call("POST", "v1/spaces", { name: "quiet", kind: "notes" });
  await daemon.call("POST", "v1/spaces/quiet/documents?wait=true", { documents: [{ key: "a", title: "Boiler", text: "The boiler service is on Thursday 12 June at 9:30." }] });
  await page.reload();
  await page.locator("#nav").waitFor();
  await page.locator("#space").selectOption("quiet");
  await visit(page, "activity");
  await page.locator("#idle-state[data-state=paused]").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.locator("#idle-news", { hasText: /[1-9]\d* pieces? of work done in/ }).waitFor();
  await page.locator("#idle .days").waitFor();
  await page.locator("section.card", { has: page.locator("#idle-lately"), hasText: /percached .*\d.* in .* of work/ }).waitFor();
  // Events that arrive while the button is pressed are drawn after the release.
  const news = () => page.evaluate(async () => (await import("/page/activity.js")).refresh());
  await press(page, page.getByRole("button", { name: "Pause" }), news);
  await page.locator("#idle-state[data-state=paused]").waitFor();
  await news();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Resume", "who was at a button is at it again");
  await page.locator("#space").selectOption("mail");
});

step("the queue is grouped by kind and fits a phone", () => many.queued(browser, daemon));

step("documents are found in a large space", () => many.found(browser, daemon));

step("a text is continued while it is typed", () => writing.written(browser, daemon));

step("another continuation is chosen with keys", () => writing.chosen(browser, daemon));

step("charts show every question, also those of other clients", async () => {
  const { page } = opened;
  await visit(page, "works");
  const { questions } = await daemon.call("GET", "v1/spaces/mail/history?limit=1000");
  const points = page.locator(".chart .mark");
  await page.waitForFunction((n) => document.querySelectorAll(".chart .mark").length === n, questions.length);
  await daemon.call("POST", "v1/spaces/mail/ask", { question: "What is the budget for Heron?" });
  await page.waitForFunction((n) => document.querySelectorAll(".chart .mark").length === n, questions.length + 1);
  assert.match(await page.locator("#time .chart").first().getAttribute("aria-label"), /Answered before: \d+, in the middle/);
  assert.match(await page.locator("#time .chart").nth(1).getAttribute("aria-label"), /Of the latest questions .* answered before/);
  await page.getByText("The same as a table").click();
  assert.equal(await page.locator("#time tbody tr").count(), await points.count());
  await page.locator("#time-numbers", { hasText: "Answered before" }).waitFor();
});

step("every view is accessible, in light and dark, on a desktop and on a phone", async () => {
  for (const [colorScheme, width] of [["light", 1280], ["dark", 1280], ["light", 390], ["dark", 390], ["light", 320]]) {
    const { page, faults, close } = await open(browser, daemon.base, { colorScheme, viewport: { width, height: 844 } });
    await page.goto(daemon.base);
    await page.locator("#door-form").waitFor();
    const check = async (view) => {
      const where = `${view}, ${colorScheme}, ${width}`;
      assert.deepEqual(await page.evaluate(wide), [], `${where}: too wide`);
      if (view !== "works") assert.deepEqual(await page.evaluate(jargon), [], `${where}: jargon`);
      if (width === 320) return; // it shows what 390 does
      const rules = colorScheme === "dark" ? ["color-contrast"] : []; // all else does not depend on the theme
      assert.deepEqual(await barriers(page, ...rules), [], `${where}: axe-core`);
    };
    await check("door");
    await enter(page, daemon.base, daemon.token);
    await page.locator("#space").selectOption("mail");
    await ask(page, "What is the budget for Heron?");
    await check("ask");
    await visit(page, "write");
    await page.locator("#write-text").fill("We sing in the old church");
    await page.locator("#write-offers button").first().waitFor({ timeout: 20000 });
    await check("write");
    for (const [view, ready] of [["documents", ".doc"], ["memory", ".entry"], ["activity", "#idle-state"], ["settings", "#set-time"], ["works", ".chart .mark"]]) {
      await visit(page, view);
      await page.locator(ready).first().waitFor();
      await check(view);
    }
    assert.deepEqual(faults, []);
    await close();
  }
});

step("the theme can be switched and is kept", async () => {
  const { page } = opened;
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const theme = page.locator("#theme");
  await theme.click();
  assert.equal(await theme.getAttribute("aria-label"), "Theme: light");
  const light = await paper();
  await theme.click();
  assert.equal(await theme.getAttribute("aria-label"), "Theme: dark");
  assert.notEqual(await paper(), light);
  await page.reload();
  assert.equal(await theme.getAttribute("aria-label"), "Theme: dark");
  await theme.click();
});

step("a token with the role ask sees what it may, and why it sees no more", async () => {
  const { page, faults, close } = await open(browser, daemon.base, { allowed: [403] });
  await enter(page, daemon.base, daemon.narrow("ask", "mail"));
  assert.deepEqual(await page.locator("#space option").allTextContents(), ["mail"]);
  await ask(page, "When is the salt spray test?");
  assert.equal(await ask(page, "When is the salt spray test?"), "answer_hit");
  for (const gone of ["#veto", "#space-new"]) assert.equal(await page.locator(gone).isVisible(), false);
  await visit(page, "documents");
  await page.locator(".doc").first().waitFor();
  assert.equal(await page.locator("#drop").isVisible(), false);
  assert.equal(await page.getByRole("button", { name: /^Forget/ }).count(), 0);
  await visit(page, "activity");
  await page.getByText("What percached does by itself belongs to all spaces").waitFor();
  await visit(page, "works");
  await page.locator("#time .chart").first().waitFor();
  assert.deepEqual(faults, []);
  await close();
});

step("the page opens with the space that was used last", () => many.remembered(browser, daemon));

step("no console errors, policy violations or foreign requests occurred", async () => {
  assert.deepEqual(opened.faults, []);
  await opened.close();
});
