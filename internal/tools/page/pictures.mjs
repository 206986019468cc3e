// Makes the pictures of the page in docs/: light, dark, and on a phone. It uses the demo's documents.
import { readFile, readdir, stat } from "node:fs/promises";
import { ask, enter, launch, open } from "./browser.mjs";
import { start } from "./daemon.mjs";

const demo = `${process.env.ROOT}/models/demo`;
const most = 200 * 1024; // bytes of a picture

const daemon = await start(process.env.PERCACHED);
const browser = await launch();
try {
  await daemon.call("POST", "v1/idle/pause");
  await daemon.call("POST", "v1/spaces", { name: "mail" });
  const files = [`${demo}/inbox.mbox`, ...(await readdir(`${demo}/meetings`)).map((name) => `${demo}/meetings/${name}`)];
  const { page, close } = await open(browser, daemon.base);
  await enter(page, daemon.base, daemon.token, "documents");
  await page.locator("#files").setInputFiles(files);
  await page.getByText("65 documents").waitFor();
  await close();
  const questions = (await readFile(`${demo}/questions.jsonl`, "utf8")).trim().split("\n").map((line) => JSON.parse(line).question);
  for (const question of [...questions.slice(0, 19), ...questions.slice(0, 6)]) await daemon.call("POST", "v1/spaces/mail/ask", { question });

  await picture("light", "What is the boathouse door code since 22 April?", { viewport: { width: 1180, height: 930 } });
  await picture("dark", "what is the budget for heron", { colorScheme: "dark", viewport: { width: 1180, height: 930 } });
  await picture("phone", "What is the plumber's phone number?", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 });
} finally {
  await browser.close();
  await daemon.end();
}

async function picture(name, question, options) {
  const { page, faults, close } = await open(browser, daemon.base, options);
  await page.addInitScript(() => localStorage.setItem("percached-tiny-seen", "yes"));
  await enter(page, daemon.base, daemon.token);
  await ask(page, question);
  await page.locator("#talks-list button").first().waitFor();
  const path = `${process.env.ROOT}/docs/page-${name}.png`;
  await page.screenshot({ path });
  const { size } = await stat(path);
  if (size > most || faults.length > 0) throw new Error(`${path}: ${size} bytes, ${faults.join("; ")}`);
  console.log(`docs/page-${name}.png: ${size} bytes`);
  await close();
}
