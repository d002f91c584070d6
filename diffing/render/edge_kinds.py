"""How it is known that a step's output went into another one, in words."""

from typing import Final

VIA: Final[dict[str, str]] = {
    "cause": "this is where the difference begins",
    "tool_call_id": "linked by the id of the tool call",
    "link": "the recording links the two",
    "history": "the next request carries it in its history",
    "digest": "the same content appears again",
    "text": "the same words appear again",
}

EVIDENCE: Final[dict[str, str]] = {"inferred": "inferred from the recordings", "tested": "tested by replaying"}
