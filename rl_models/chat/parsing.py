"""Parsing of replies: the JSON object in a text, and its validation against a pydantic model."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rl_models.chat.client import RejectedReplyError

R = TypeVar("R", bound=BaseModel)


def read_json_object(text: str) -> dict[str, Any]:
    """The JSON object in a reply, from its first to its last brace; raises RejectedReplyError where there is none."""
    start, end = text.find("{"), text.rfind("}")
    try:
        document = json.loads(text[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        raise RejectedReplyError("it is not valid JSON") from None
    if not isinstance(document, dict):
        raise RejectedReplyError("it holds no JSON object")
    return document


def read_record(text: str, model: type[R]) -> R:
    """The reply as an instance of a pydantic model; raises RejectedReplyError, which names the first error."""
    try:
        return model.model_validate(read_json_object(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise RejectedReplyError(f"{where}: {first['msg'].lower()[:120]}") from None
