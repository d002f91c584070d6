"""Redaction by a function of the agent's author, before an event leaves the process or is stored."""

import json
import logging
from collections.abc import Callable
from typing import Any, Final

from forkpoint.encoding import encode
from forkpoint.vocabulary import OUTPUT_FORM

_log = logging.getLogger("forkpoint")
# Payload fields without content of the agent: they stay when a payload is blocked.
_STRUCTURE: Final = frozenset(
    {"type", "app_id", "provider", "model_id", "api", "tool_name", "call_id", "status", "latency_ms", "dropped_events"}
)

_OUTPUTS: Final = ("result", "candidate_list", OUTPUT_FORM)


def redact_line(line: str, redact: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Return the line with the payload that `redact` returns. If it fails, the payload is blocked."""
    event = json.loads(line)
    payload = event["payload"]
    try:
        redacted_payload = redact(json.loads(line)["payload"])
        if not isinstance(redacted_payload, dict):
            raise TypeError(f"the redaction function returned {type(redacted_payload).__name__}, not a dictionary")
    except Exception as error:  # noqa: BLE001 - code of the agent's author runs here, and may raise anything
        _log.warning("A payload was blocked: redaction failed with %s", type(error).__name__)
        structure = {key: value for key, value in payload.items() if key in _STRUCTURE}
        return encode({**event, "redaction_status": "blocked", "payload": structure})
    if redacted_payload == payload:
        return line
    if OUTPUT_FORM in payload and any(redacted_payload.get(name) != payload.get(name) for name in _OUTPUTS):
        # It may contain the text of an object that the function redacted: a rerun must know that it is incomplete.
        redacted_payload[OUTPUT_FORM] = {"type": "opaque"}
    return encode({**event, "redaction_status": "redacted", "payload": redacted_payload})
