// Accessibility checks that run in the browser: axe-core's rules, words for people, small screens.
import { readFile } from "node:fs/promises";

const axe = await readFile(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Returns the violations that axe-core finds, of all its rules or of some. */
export async function barriers(page, ...rules) {
  if (!await page.evaluate(() => "axe" in globalThis)) await page.evaluate(axe);
  const options = { resultTypes: ["violations"], ...(rules.length > 0 ? { runOnly: rules } : {}) };
  const { violations } = await page.evaluate((o) => globalThis.axe.run(document, o), options);
  return violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.target} (${n.any.map((c) => c.message).join("; ")})`).join(", ")}`);
}

/** Returns words of a view that only its makers know. Documents, questions and answers may have them. */
export function jargon() {
  const words = /\b(tensors?|slices?|chunks?|prefill\w*|cache[ds]?|embeddings?|vectors?|veto\w*|ledger|gate|stale|LFU|KV|QA bank|hit rate|compute[ds]?|placement|idle)\b/gi;
  const own = [...document.querySelectorAll("main, nav, header")].flatMap((e) => {
    const copy = [];
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let n = walk.nextNode(); n; n = walk.nextNode()) {
      const at = n.parentElement;
      if (at.checkVisibility() && !at.closest(".citation, .cited-chunks, .doc, .q, .a, .said, .asked, .talk, .talks, .link, q, option")) copy.push(n.textContent);
    }
    return copy;
  });
  return own.flatMap((text) => [...text.matchAll(words)].map((m) => `${m[0]}: ${text.trim().slice(0, 80)}`));
}

/** Returns elements that overflow the screen outside of scrolling areas. */
export function wide() {
  const width = document.documentElement.clientWidth;
  const faults = document.documentElement.scrollWidth > width ? [`the page is ${document.documentElement.scrollWidth} wide`] : [];
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (!e.checkVisibility() || e.closest(".table, .unseen, .skip")) continue;
    if (box.width > 0 && (box.right > width + 1 || box.left < -1)) faults.push(`from ${Math.round(box.left)} to ${Math.round(box.right)}: ${e.outerHTML.slice(0, 100)}`);
  }
  return faults;
}
