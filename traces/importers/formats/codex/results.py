"""Failures of calls in Codex's rollouts. Versions differ in how they write them."""

import re
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_embedded

_EXIT_CODE: Final = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d+)$", re.M)
# The status of a command precedes its output.
_HEADER: Final = 500


def output_error(output: JSONValue) -> str:
    """Return how a command or a tool failed; empty if it did not."""
    result = as_object(parse_embedded(output))
    if result.get("success") is False:
        return as_text(result.get("content")) or "error"
    code = as_text(as_object(result.get("metadata")).get("exit_code"))
    if not code and isinstance(output, str) and (match := _EXIT_CODE.search(output[:_HEADER])):
        code = match[1]
    return "" if code in {"", "0"} else f"exit code {code}"


def end_error(end: JSONObject) -> str:
    """Return how a call failed as the program measured it; empty if it did not."""
    failure = as_object(end.get("result")).get("Err")
    code = as_text(end.get("exit_code"))
    return as_text(failure) or ("" if code in {"", "0"} else f"exit code {code}")
