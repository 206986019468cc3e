// Calls percached with Vercel's AI SDK, by both of OpenAI's interfaces, whole and streamed. It reads
// what openai.mjs reads.

import assert from "node:assert/strict";
import { createOpenAI } from "@ai-sdk/openai";
import { generateObject, generateText, jsonSchema, streamText } from "ai";

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set`);
const openai = createOpenAI({ baseURL: env("PERCACHED_URL") + "/v1", apiKey: env("PERCACHED_TOKEN") });
const space = env("PERCACHED_SPACE");
const prompt = env("PERCACHED_QUESTION");
const onError = ({ error }) => assert.fail(error);

const schema = jsonSchema({
  type: "object",
  properties: { sure: { type: "boolean" }, count: { type: "integer" } },
  required: ["sure", "count"],
  additionalProperties: false,
});
const texts = [];
for (const model of [openai.chat(space), openai.responses(space)]) {
  texts.push((await generateText({ model, prompt })).text);
  let streamed = "";
  for await (const piece of streamText({ model, prompt, onError }).textStream) streamed += piece;
  texts.push(streamed);
  const { object } = await generateObject({ model, prompt, schema });
  assert.ok(typeof object.sure === "boolean" && Number.isInteger(object.count), JSON.stringify(object));
}
assert.ok(texts[0] !== "" && texts.every((text) => text === texts[0]), JSON.stringify(texts));
