"""Responses of providers exactly as they arrived, as JSON. Pure."""

import base64
from collections.abc import Iterable, Sequence
from typing import Final

from forkpoint.vocabulary import LANE
from traces.core.json_types import JSONObject, JSONValue

# What clients read of an answer, and what its reader needs to report a problem to the provider.
_HEADERS: Final = frozenset(
    {"content-type", "openai-model", "openai-processing-ms", "request-id", "retry-after", "retry-after-ms"}
    | {"x-litellm-response-cost", "x-request-id", "x-should-retry"}
)
# What an agent may still ask for: it may wait, or turn to another model.
_LIMITS: Final = ("anthropic-ratelimit-", "ratelimit-", "x-ratelimit-")
# Bytes that arrive this soon after others count as one piece: pieces only matter for the timing of a playback.
_GAP_MS: Final = 20

Marks = Sequence[tuple[int, int]]


def raw_response(
    *,
    api: str,
    status: int,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    marks: Marks,
    is_cut: bool,
    request: str = "",
    content: str = "",
    lane: str = "",
) -> JSONObject:
    """Return a response: its body as a text, or in base64 if it is none.

    `marks` state for each piece where it begins in the body, and when it arrived, in milliseconds after the request.
    `is_cut`: the connection ended before the answer did. `request` is the digest of the bytes that it answers,
    `content` that of what in them the answer depends on. `lane` is the thread or task of the agent that asked.
    """
    kept_headers: list[JSONValue] = [[name.lower(), value] for name, value in headers if _is_read(name.lower())]
    fields: JSONObject = {"api": api, "status": status, "headers": kept_headers, **_body(body)}
    cut: JSONObject = {"is_cut": True} if is_cut else {}
    facts: JSONObject = {"request": request, "content": content, LANE: lane}
    question = {name: fact for name, fact in facts.items() if fact}
    return {**fields, "marks": [[*mark] for mark in join_marks(marks)], **cut, **question}


def _is_read(name: str) -> bool:
    return name in _HEADERS or name.startswith(_LIMITS)


def join_marks(marks: Marks) -> list[tuple[int, int]]:
    """Return the marks without those of pieces that arrived right after another."""
    bursts: list[tuple[int, int]] = []
    for offset, at_ms in marks:
        if not bursts or at_ms - bursts[-1][1] >= _GAP_MS:
            bursts.append((offset, at_ms))
    return bursts


def _body(body: bytes) -> JSONObject:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
