// The titles of chunks. The tree knows only their hashes, so a title is searched in the documents
// when it is needed, and then cached.
import { get, within } from "./api.js";

const found = new Map(); // space and chunk: title
let searching = Promise.resolve();
const seen = new Set(); // searched documents

/** Caches the titles of an answer's citations. */
export function learn(space, citations) {
  for (const c of citations) found.set(`${space} ${c.chunk}`, c.about);
}

/** Returns the cached title of a chunk. */
export const known = (space, chunk) => found.get(`${space} ${chunk}`);

function remember(space, document) {
  for (const c of document.text) found.set(`${space} ${c.chunk}`, c.about || document.title || "Untitled");
}

/** Searches the title of a chunk. One search runs at a time. */
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
  return found.get(key) ?? "A passage of a document that is gone";
}
