// Files of what was dropped, those in folders with their paths.

/** Gives {file, name} of all that a drop holds. */
export async function dropped(transfer) {
  // The list is empty as soon as the event is over: entries are taken first.
  const entries = [...transfer.items].filter((i) => i.kind === "file").map((i) => i.webkitGetAsEntry?.() ?? i.getAsFile());
  const found = [];
  for (const e of entries) if (e) await collect(e, found);
  return found;
}

async function collect(entry, found) {
  if (entry instanceof File) {
    found.push({ file: entry, name: entry.name });
  } else if (entry.isFile) {
    const file = await new Promise((done, wrong) => entry.file(done, wrong));
    found.push({ file, name: entry.fullPath.replace(/^\//, "") });
  } else {
    const reader = entry.createReader();
    for (;;) {
      // It gives a part at a time, and none behind the last.
      const some = await new Promise((done, wrong) => reader.readEntries(done, wrong));
      if (some.length === 0) break;
      for (const e of some) await collect(e, found);
    }
  }
}
