// Collects dropped files, including those in folders, with their paths.

/** Returns {file, name} for each dropped file. */
export async function dropped(transfer) {
  // The list is emptied after the event, so copy the entries first.
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
      // It returns some entries at a time, and none at the end.
      const some = await new Promise((done, wrong) => reader.readEntries(done, wrong));
      if (some.length === 0) break;
      for (const e of some) await collect(e, found);
    }
  }
}
