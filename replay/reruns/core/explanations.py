"""Why the recording does not answer a request of the running agent. Pure."""

from typing import Final
from uuid import UUID

from replay.reruns.core.matcher import Divergence, Match
from traces.core.json_access import text_or_json
from traces.core.json_types import JSONObject, JSONValue

# Characters of a value in an error of a client.
_SHORT: Final = 200


def explain_miss(result: Match | Divergence, run: UUID) -> str:
    """Return why a request gets no answer of run `run`, for the error that the agent's client reads."""
    if isinstance(result, Match) and result.has_other_content:
        return (
            f"this call differs from step {result.call.no} of run {run} in content that steps do not store, such as a "
            "role or the mark of an error"
        )
    if isinstance(result, Match):
        return f"the overrides change this call, so step {result.call.no} of run {run} does not answer it"
    if result.nearest is None or result.difference is None:
        return f"run {run} has no call left that this one could be"
    difference = result.difference
    return (
        f"this call is not in the recording of run {run}: at {difference.path} it has "
        f"{_quote(difference.new)}, and step {result.nearest.no} has {_quote(difference.old)}"
    )


def difference_fields(result: Match | Divergence) -> JSONObject:
    """Return the nearest recorded step and the first difference from it; empty if there is none."""
    if isinstance(result, Match) or result.nearest is None or result.difference is None:
        return {}
    difference = result.difference
    return {"step": result.nearest.no, "path": difference.path, "old": difference.old, "new": difference.new}


def _quote(value: JSONValue) -> str:
    return f"“{text_or_json(value)[:_SHORT]}”"
