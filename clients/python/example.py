"""Creates a space, uploads a file, asks, streams an answer, reads its citations, and deletes all of it.

PERCACHED_URL is the daemon's address, PERCACHED_TOKEN a token of it.
"""

import asyncio
import os

from percached import AsyncPercached, Percached, PercachedError
from percached.generated.api.documents import delete_document, list_documents
from percached.generated.models import Answer, Token

URL, TOKEN = os.environ["PERCACHED_URL"], os.environ["PERCACHED_TOKEN"]
SPACE, QUESTION = "python-example", "When is the boiler service?"

with Percached(TOKEN, URL) as percached:
    percached.create_space(SPACE)
    try:
        upload = percached.upload(SPACE, b"The boiler service is on Thursday 12 June at 9:30.\n", "haus/Wärme.md")
        assert upload.added == 1, upload.failures

        answer = percached.ask(SPACE, QUESTION)
        print("answer:", answer.answer)
        for citation in answer.citations:
            print(f"  from {citation.about}: {citation.quote}")
        assert "12 June" in answer.citations[0].quote

        text = ""
        for event in percached.stream(SPACE, QUESTION, bypass=True):
            match event:
                case Token():
                    text += event.text
                case Answer():
                    assert event.answer == text
        print("streamed:", text)

        async def stream() -> str:
            async with AsyncPercached(TOKEN, URL) as percached:
                events = percached.stream(SPACE, QUESTION, bypass=True)
                return "".join([event.text async for event in events if isinstance(event, Token)])

        assert asyncio.run(stream()) == text

        percached.call(delete_document, SPACE, answer.citations[0].document)
        assert percached.call(list_documents, SPACE).total == 0
    finally:
        percached.delete_space(SPACE)

    try:
        percached.ask(SPACE, QUESTION)
        raise AssertionError("the space is still there")
    except PercachedError as e:
        assert e.problem and e.problem.type_ == "urn:percached:problem:not_found", e
print("deleted")
