from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import Any, BinaryIO, Self

import httpx
from httpx_sse import aconnect_sse, connect_sse

from .errors import failure
from .events import Event, decode
from .generated import AuthenticatedClient
from .generated.api.documents import upload_documents
from .generated.api.questions import ask, ask_stream
from .generated.api.spaces import create_space, delete_space
from .generated.models import Answer, NewSpace, Question, Space, SpaceKind, UploadDocumentsBody, UploadStatus
from .generated.types import File, Response

_ADDRESS = "http://127.0.0.1:7337"
_TIMEOUT = httpx.Timeout(10, read=600, write=600)  # a model may take minutes to answer
_CUT = "the stream ended before the answer was complete"


class _Base:
    def __init__(self, token: str, base_url: str = _ADDRESS, timeout: httpx.Timeout = _TIMEOUT):
        self.generated = AuthenticatedClient(base_url=base_url, token=token, timeout=timeout)
        """What the functions of percached.generated.api take as client."""


class Percached(_Base):
    """Calls percached and waits for its responses. Failures are PercachedError, or httpx's own errors."""

    def call(self, operation: ModuleType, *args: Any, **more: Any) -> Any:
        """Calls an operation: a module of percached.generated.api, with the arguments of its functions."""
        return _result(operation.sync_detailed(*args, client=self.generated, **more))

    def create_space(self, name: str, kind: str = "notes") -> Space:
        return self.call(create_space, body=NewSpace(name=name, kind=SpaceKind(kind)))

    def delete_space(self, name: str) -> None:
        """Deletes a space with all its documents and answers."""
        self.call(delete_space, name)

    def upload(self, space: str, file: BinaryIO | bytes, name: str) -> UploadStatus:
        """Adds a file and waits until its documents are added.

        name identifies the document and may have folders (notes/plan.md): the same name again replaces it.
        """
        return _uploaded(self.generated.get_httpx_client().request(**_upload(space, file, name)))

    def ask(self, space: str, question: str, **options: Any) -> Answer:
        """Asks. options are those of the type Question, such as k=5 or bypass=True."""
        return self.call(ask, space, body=Question(question, **options))

    def stream(self, space: str, question: str, **options: Any) -> Iterator[Event]:
        """Asks, and yields the answer piece by piece. Closing the iterator stops the work."""
        request = ask_stream._get_kwargs(space, body=Question(question, **options))
        with connect_sse(self.generated.get_httpx_client(), **request) as source:
            if source.response.is_error:
                raise failure(source.response.status_code, source.response.read())
            for sent in source.iter_sse():
                event = decode(sent)
                if event is not None:
                    yield event
                if isinstance(event, Answer):
                    return
        raise httpx.RemoteProtocolError(_CUT)

    def __enter__(self) -> Self:
        self.generated.__enter__()
        return self

    def __exit__(self, *exit: Any) -> None:
        self.generated.__exit__(*exit)


class AsyncPercached(_Base):
    """As Percached, for asyncio."""

    async def call(self, operation: ModuleType, *args: Any, **more: Any) -> Any:
        return _result(await operation.asyncio_detailed(*args, client=self.generated, **more))

    async def create_space(self, name: str, kind: str = "notes") -> Space:
        return await self.call(create_space, body=NewSpace(name=name, kind=SpaceKind(kind)))

    async def delete_space(self, name: str) -> None:
        await self.call(delete_space, name)

    async def upload(self, space: str, file: BinaryIO | bytes, name: str) -> UploadStatus:
        return _uploaded(await self.generated.get_async_httpx_client().request(**_upload(space, file, name)))

    async def ask(self, space: str, question: str, **options: Any) -> Answer:
        return await self.call(ask, space, body=Question(question, **options))

    async def stream(self, space: str, question: str, **options: Any) -> AsyncIterator[Event]:
        request = ask_stream._get_kwargs(space, body=Question(question, **options))
        async with aconnect_sse(self.generated.get_async_httpx_client(), **request) as source:
            if source.response.is_error:
                raise failure(source.response.status_code, await source.response.aread())
            async for sent in source.aiter_sse():
                event = decode(sent)
                if event is not None:
                    yield event
                if isinstance(event, Answer):
                    return
        raise httpx.RemoteProtocolError(_CUT)

    async def __aenter__(self) -> Self:
        await self.generated.__aenter__()
        return self

    async def __aexit__(self, *exit: Any) -> None:
        await self.generated.__aexit__(*exit)


def _upload(space: str, file: BinaryIO | bytes, name: str) -> dict[str, Any]:
    body = UploadDocumentsBody([File(file, name)])
    request = upload_documents._get_kwargs(space, body=body, wait=True)
    # The generated header names a boundary that a file may contain. httpx makes one at random.
    del request["headers"]["Content-Type"]
    return request


def _uploaded(response: httpx.Response) -> UploadStatus:
    if response.is_error:
        raise failure(response.status_code, response.content)
    return UploadStatus.from_dict(response.json())


def _result(response: Response) -> Any:
    if response.status_code >= 400:
        raise failure(response.status_code, response.content)
    return response.parsed
