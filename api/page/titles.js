// What chunks are called. The tree names them by their hash alone: a title is looked
// for in the documents, when somebody wants to know it, and then remembered.
import { get, within } from "./api.js";

const found = new Map(); // space and chunk: title
let searching = Promise.resolve();
const seen = new Set(); // documents that were looked through

/** Remembers what chunks are called that an answer rests on. */
export function learn(space, citations) {
  for (const c of citations) found.set(`${space} ${c.chunk}`, c.about);
}

/** The title of a chunk, as far as it is known. */
export const known = (space, chunk) => found.get(`${space} ${chunk}`);

function remember(space, document) {
  for (const c of document.text) found.set(`${space} ${c.chunk}`, c.about || document.title || "Without a title");
}

/** The title of a chunk. One search goes on at a time. */
export function titleOf(space, chunk) {
  searching = searching.catch(() => {}).then(() => search(space, chunk));
  return searching;
}

async function search(space, chunk) {
  const key = `${space} ${chunk}`;
  for (let after = ""; !found.has(key);) {
    const page = await get(`${within(space, "documents")}?limit=1000${after && `&after=${encodeURIComponent(after)}`}`);
    const left = page.documents.filter((d) => !seen.has(`${space} ${d.id}`));
    for (let i = 0; i < left.length && !found.has(key); i += 8) {
      await Promise.all(left.slice(i, i + 8).map(async (d) => {
        remember(space, await get(within(space, "documents", d.id)));
        seen.add(`${space} ${d.id}`);
      }));
    }
    if (!page.next) break;
    after = page.next;
  }
  return found.get(key) ?? "A chunk of a document that is gone";
}
