// Creates a space, uploads a file, asks, streams an answer, reads its citations, and deletes all of it.
// PERCACHED_URL is the daemon's address, PERCACHED_TOKEN a token of it.
import { strict as assert } from "node:assert";
import { Percached, PercachedError } from "percached";

const percached = new Percached({ baseUrl: process.env["PERCACHED_URL"]!, token: process.env["PERCACHED_TOKEN"]! });
const space = "typescript-example";
const question = { question: "When is the boiler service?" };

await percached.createSpace({ name: space, kind: "notes" });
try {
  const note = new Blob(["The boiler service is on Thursday 12 June at 9:30.\n"]);
  const upload = await percached.upload(space, note, "haus/Wärme.md");
  assert.equal(upload.added, 1, JSON.stringify(upload.failures));

  const answer = await percached.ask(space, question);
  console.log(`answer: ${answer.answer}`);
  for (const citation of answer.citations) console.log(`  from ${citation.about}: ${citation.quote}`);
  assert.match(answer.citations[0]!.quote, /12 June/);

  let text = "";
  for await (const { event, data } of percached.stream(space, { ...question, bypass: true })) {
    if (event === "token") text += data.text;
    if (event === "done") assert.equal(text, data.answer);
  }
  console.log(`streamed: ${text}`);

  const document = answer.citations[0]!.document;
  await percached.api.DELETE("/v1/spaces/{space}/documents/{document}", { params: { path: { space, document } } });
  const left = await percached.api.GET("/v1/spaces/{space}/documents", { params: { path: { space } } });
  assert.equal(left.data!.total, 0);
} finally {
  await percached.deleteSpace(space);
}

await assert.rejects(percached.ask(space, question), (e) => e instanceof PercachedError && e.problem?.type === "urn:percached:problem:not_found");
console.log("deleted");
