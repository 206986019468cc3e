import json

from httpx_sse import ServerSentEvent

from .errors import PercachedError
from .generated.models import Answer, Citation, Problem, Stage, Token

Event = Stage | Citation | Token | Answer
"""An event of a streamed answer. The Answer is the last."""

_types = {"stage": Stage, "citation": Citation, "token": Token, "done": Answer}


def decode(sent: ServerSentEvent) -> Event | None:
    """Returns an event, or None for one that this client does not know."""
    if sent.event == "error":
        problem = Problem.from_dict(json.loads(sent.data))
        raise PercachedError(problem.status, problem)
    known = _types.get(sent.event)
    return known.from_dict(json.loads(sent.data)) if known else None
