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

// Under other instructions, the stored answer is not used. The question stands alone, whatever came before.
const turns = await client.chat.completions.create({
  model,
  messages: [{ role: "system", content: "Answer briefly." }, ...messages, { role: "assistant", content: told }, ...messages],
  max_completion_tokens: 8,
});
assert.notEqual(turns.percached.outcome, "answer_hit");
seen.turns = { outcome: turns.percached.outcome };

// An answer up to a stop.
const stopped = await client.chat.completions.create({ model, messages, stop: [told.slice(1, 2)] });
assert.equal(stopped.choices[0].message.content, told.slice(0, Math.max(0, told.indexOf(told.slice(1, 2)))));
assert.equal(stopped.choices[0].finish_reason, "stop");

// An answer in JSON of a schema, whole and streamed, by both interfaces.
const schema = {
  type: "object",
  properties: { sums: { type: "array", items: { type: "integer" }, maxItems: 2 }, sure: { type: "boolean" } },
  required: ["sums", "sure"],
  additionalProperties: false,
};
const json_schema = { name: "sums", strict: true, schema };
const fits = (text) => {
  const value = JSON.parse(text);
  assert.deepEqual(Object.keys(value), ["sums", "sure"]);
  assert.ok(value.sums.every(Number.isInteger) && typeof value.sure === "boolean", text);
};
const formed = await client.chat.completions.create({ model, messages, response_format: { type: "json_schema", json_schema } });
fits(formed.choices[0].message.content);
fits(await client.chat.completions.stream({ model, messages, response_format: { type: "json_schema", json_schema } }).finalContent());
fits((await client.responses.create({ model, input: question, text: { format: { type: "json_schema", ...json_schema } } })).output_text);

// The newer interface, whole and streamed.
const response = await client.responses.create({ model, input: question });
assert.equal(response.output_text, told);
assert.equal(response.status, "completed");
let typed = "";
let final;
for await (const event of await client.responses.create({ model, input: messages, stream: true })) {
  if (event.type === "response.output_text.delta") typed += event.delta;
  if (event.type === "response.completed") final = event.response;
}
assert.equal(typed, told);
assert.equal(final.output[0].content[0].text, told);
seen.response = { answer: typed, outcome: final.percached.outcome };

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
assert.equal(seen.errors.tools.param, "tools");

console.log(JSON.stringify(seen));
