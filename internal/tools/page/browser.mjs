// A browser for a test. It records what the page must never do: console errors, violations of its
// policy, requests to other origins.
import { chromium } from "playwright-core";

/** Starts the browser. */
export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM, args: ["--disable-gpu", "--disable-dev-shm-usage", "--disable-lcd-text"],
});

/**
 * Opens a page in a profile of its own: {page, faults, close}. Allowed are the
 * statuses that a test brings about on purpose: the browser logs them as errors.
 */
export async function open(browser, base, { allowed = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(60000);
  const faults = [];
  await context.exposeFunction("breach", (what) => { faults.push(`policy: ${what}`); });
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => globalThis.breach(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
    addEventListener("unhandledrejection", (e) => console.error(`unhandled: ${e.reason}`));
  });
  context.on("request", (r) => {
    if (!r.url().startsWith(`${base}/`) && !r.url().startsWith("data:")) faults.push(`a request to ${r.url()}`);
  });
  const page = await context.newPage();
  page.on("pageerror", (e) => faults.push(`error: ${e.stack}`));
  page.on("dialog", (d) => { faults.push(`a dialog: ${d.message()}`); d.dismiss(); });
  page.on("console", (m) => {
    const status = /status of (\d+)/.exec(m.text())?.[1];
    if (["error", "warning"].includes(m.type()) && !allowed.includes(Number(status))) faults.push(`console: ${m.text()} (${m.location().url})`);
  });
  return { page, faults, close: () => context.close() };
}

/** Signs in by the address and waits for the page. */
export async function enter(page, base, token, view = "ask") {
  await page.goto(`${base}/#token=${token}`);
  await page.locator("#view-ask").waitFor();
  if (view !== "ask") await visit(page, view);
}

/** Opens a view by its link. */
export async function visit(page, view) {
  await page.locator(`#nav a[href="#/${view}"]`).click();
  await page.locator(`#view-${view}`).waitFor();
}

/** Presses a button and releases it after a callback. */
export async function press(page, button, meanwhile) {
  await button.hover();
  await page.mouse.down();
  await meanwhile();
  await page.mouse.up();
}

/** Asks by keyboard and returns the outcome. */
export async function ask(page, question) {
  await page.locator("#question").fill(question);
  await page.locator("#question").press("Enter");
  await page.waitForFunction((q) => {
    const answer = document.getElementById("answer");
    return answer.dataset.state === "done" && document.getElementById("answer-question").textContent === q;
  }, question);
  return page.locator("#answer-outcome").getAttribute("data-outcome");
}
