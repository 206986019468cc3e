"""Calls percached with OpenAI's Python client, LangChain and LlamaIndex, whole and streamed. It
reads what openai.mjs reads."""

import os

import openai
import pydantic
from langchain_openai import ChatOpenAI
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

BASE = os.environ["PERCACHED_URL"] + "/v1"
KEY = os.environ["PERCACHED_TOKEN"]
SPACE = os.environ["PERCACHED_SPACE"]
QUESTION = os.environ["PERCACHED_QUESTION"]
texts = {}

client = openai.OpenAI(base_url=BASE, api_key=KEY)
messages = [{"role": "user", "content": QUESTION}]
texts["openai"] = client.chat.completions.create(model=SPACE, messages=messages).choices[0].message.content
texts["openai, responses"] = client.responses.create(model=SPACE, input=QUESTION).output_text
with client.responses.stream(model=SPACE, input=QUESTION) as stream:
    for _ in stream:
        pass
    texts["openai, responses streamed"] = stream.get_final_response().output_text

chain = ChatOpenAI(model=SPACE, base_url=BASE, api_key=KEY)
texts["langchain"] = chain.invoke(QUESTION).content
texts["langchain, streamed"] = "".join(chunk.content for chunk in chain.stream(QUESTION))
newer = ChatOpenAI(model=SPACE, base_url=BASE, api_key=KEY, use_responses_api=True)
texts["langchain, responses"] = newer.invoke(QUESTION).content[0]["text"]

llama = OpenAILike(model=SPACE, api_base=BASE, api_key=KEY, is_chat_model=True)
asked = [ChatMessage(role="user", content=QUESTION)]
texts["llamaindex"] = llama.chat(asked).message.content
texts["llamaindex, streamed"] = list(llama.stream_chat(asked))[-1].message.content

assert texts["openai"] and len(set(texts.values())) == 1, texts

# Answers in JSON of a schema, by both interfaces.
class Item(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=8)
    count: int | None


class Items(pydantic.BaseModel):
    items: list[Item] = pydantic.Field(max_length=2)
    sure: bool


assert client.chat.completions.parse(model=SPACE, messages=messages, response_format=Items).choices[0].message.parsed
assert client.responses.parse(model=SPACE, input=QUESTION, text_format=Items).output_parsed
for made in chain, newer:
    assert isinstance(made.with_structured_output(Items).invoke(QUESTION), Items)

# A stable system message gets its own stored answer.
instructed = [("system", "You are a helpful assistant."), ("human", QUESTION)]
first, second = chain.invoke(instructed), chain.invoke(instructed)
assert second.content == first.content, (first, second)
