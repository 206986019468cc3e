"""The client of percached, which answers questions over your own documents.

percached.generated is generated from openapi.yaml when the package is built: a module for each
operation in percached.generated.api, and the types in percached.generated.models.
"""

from .client import AsyncPercached, Percached
from .errors import PercachedError
from .events import Event

__all__ = ["AsyncPercached", "Event", "Percached", "PercachedError"]
