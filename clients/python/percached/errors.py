import json

from .generated.models import Problem


class PercachedError(Exception):
    """percached refused a request, or could not carry it out.

    problem is None if the response is not from percached, but from a proxy for example.
    """

    def __init__(self, status: int, problem: Problem | None = None):
        self.status = status
        self.problem = problem
        super().__init__(f"{status} {problem.title}: {problem.detail}" if problem else f"{status} no problem body")


def failure(status: int, body: bytes) -> PercachedError:
    """Returns the error of a response that failed."""
    try:
        return PercachedError(status, Problem.from_dict(json.loads(body)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return PercachedError(status)
