// Calls percached with OpenAI's client. It prints its results as one line of JSON, and fails if a
// response differs from OpenAI's interface.
//
//	PERCACHED_URL       http://127.0.0.1:7337
//	PERCACHED_TOKEN     a token with the role ask
//	PERCACHED_SPACE     the space to ask
//	PERCACHED_QUESTION  what to ask there

import assert from "node:assert/strict";
import OpenAI from "openai";

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set`);
const base = env("PERCACHED_URL") + "/v1";
const model = env("PERCACHED_SPACE");
const question = env("PERCACHED_QUESTION");
const client = new OpenAI({ baseURL: base, apiKey: env("PERCACHED_TOKEN"), maxRetries: 0 });
const messages = [{ role: "user", content: question }];
const seen = {};

// Models: the spaces, and the embedding model.
const models = [];
for await (const m of client.models.list()) {
  assert.equal(m.object, "model");
  models.push(m.id);
}
assert.ok(models.includes(model), `${model} is not among ${models}`);
assert.equal((await client.models.retrieve(model)).id, model);
seen.models = models;

// A chat without streaming.
const whole = await client.chat.completions.create({ model, messages, temperature: 0 });
assert.equal(whole.object, "chat.completion");
assert.equal(whole.model, model);
assert.equal(whole.choices.length, 1);
assert.equal(whole.choices[0].message.role, "assistant");
assert.ok(["stop", "length"].includes(whole.choices[0].finish_reason));
assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + whole.usage.completion_tokens);
assert.ok(["answer_hit", "verified_hit", "tensor_hit", "miss"].includes(whole.percached.outcome));
seen.chat = {
  answer: whole.choices[0].message.content,
  outcome: whole.percached.outcome,
  citations: whole.percached.citations.length,
};

// The same, streamed, with the usage at the end.
let told = "";
let finish, last, usage;
for await (const chunk of await client.chat.completions.create({
  model,
  messages,
  stream: true,
  stream_options: { include_usage: true },
})) {
  assert.equal(chunk.object, "chat.completion.chunk");
  const choice = chunk.choices[0];
  told += choice?.delta.content ?? "";
  finish = choice?.finish_reason ?? finish;
  last = chunk.percached ?? last;
  usage = chunk.usage ?? usage;
}
assert.equal(told, seen.chat.answer, "the stream says something else");
assert.equal(finish, whole.choices[0].finish_reason);
assert.ok(usage.total_tokens >= 0);
seen.stream = { answer: told, outcome: last.outcome };

// The client's stream helper, and a stream that is closed early.
const gathered = await client.chat.completions.stream({ model, messages }).finalContent();
assert.equal(gathered, told);
const left = await client.chat.completions.create({ model, messages, stream: true });
for await (const _ of left) break;
left.controller.abort();

// With earlier turns, stored answers are not used.
const turns = await client.chat.completions.create({
  model,
  messages: [{ role: "system", content: "Answer briefly." }, ...messages, { role: "assistant", content: told }, ...messages],
  max_completion_tokens: 8,
});
assert.notEqual(turns.percached.outcome, "answer_hit");
seen.turns = { outcome: turns.percached.outcome };

// Embeddings: the client requests base64 by default.
const texts = [question, "Another text."];
const packed = await client.embeddings.create({ model: "any", input: texts });
const plain = await client.embeddings.create({ model: "any", input: texts, encoding_format: "float" });
assert.equal(packed.data.length, texts.length);
for (const i of texts.keys()) {
  assert.equal(packed.data[i].index, i);
  assert.deepEqual(Array.from(packed.data[i].embedding), Array.from(Float32Array.from(plain.data[i].embedding)));
}
assert.notDeepEqual(plain.data[0].embedding, plain.data[1].embedding);
seen.embeddings = { model: plain.model, dimensions: plain.data[0].embedding.length };

// OpenAI's client recognises the errors.
async function refusal(call) {
  try {
    await call();
  } catch (e) {
    assert.ok(e instanceof OpenAI.APIError, String(e));
    assert.match(e.requestID ?? "", /^[A-Za-z0-9._-]+$/);
    return { name: e.constructor.name, status: e.status, code: e.code, param: e.param ?? null };
  }
  assert.fail("nothing was refused");
}
const stranger = new OpenAI({ baseURL: base, apiKey: "pc_nobody", maxRetries: 0 });
seen.errors = {
  token: await refusal(() => stranger.models.list()),
  model: await refusal(() => client.chat.completions.create({ model: "no-such-space", messages })),
  empty: await refusal(() => client.chat.completions.create({ model, messages: [] })),
  tools: await refusal(() =>
    client.chat.completions.create({ model, messages, tools: [{ type: "function", function: { name: "f" } }] }),
  ),
};
assert.equal(seen.errors.token.name, "AuthenticationError");
assert.ok(["NotFoundError", "PermissionDeniedError"].includes(seen.errors.model.name));
assert.equal(seen.errors.empty.name, "BadRequestError");
assert.equal(seen.errors.empty.param, "messages");
assert.equal(seen.errors.tools.name, "BadRequestError");

console.log(JSON.stringify(seen));
