"""Conversations as one text, as LangChain writes them: each message begins with the name of its speaker."""

import re
from typing import Final

from traces.core.json_types import JSONObject

_ROLES: Final = {"System": "system", "Human": "user", "AI": "assistant", "Tool": "tool", "Function": "tool"}
_SPEAKER: Final = re.compile(rf"^({'|'.join(_ROLES)}): ", re.M)


def parse_buffer(text: str) -> list[JSONObject]:
    """Return the messages of a text; a text that begins with no speaker is the user's."""
    matches = list(_SPEAKER.finditer(text))
    if not matches or matches[0].start() > 0:
        return [{"role": "user", "content": text}]
    ends = [*(match.start() - 1 for match in matches[1:]), len(text)]
    return [
        {"role": _ROLES[match[1]], "content": text[match.end() : end]} for match, end in zip(matches, ends, strict=True)
    ]
