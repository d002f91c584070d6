"""Deciding about tools. Every decision is a row that stays: who, when, and how."""

from collections.abc import Mapping
from typing import Literal

import structlog
from django.db import transaction

from replay.models import ToolDecision
from replay.tool_review import queries, side_effects_yaml

logger = structlog.get_logger("replay")


def decide(decisions: Mapping[str, bool | None], *, by: str, via: Literal["page", "yaml"] = "page") -> int:
    """Store what is new in the decisions, all or none; how many were."""
    with transaction.atomic():
        held = queries.safety_by_tool()
        new = [
            ToolDecision(tool=tool, safe=safe, by=by[:120], via=via)
            for tool, safe in decisions.items()
            if held.get(tool) is not safe
        ]
        ToolDecision.objects.bulk_create(new)
    for decision in new:
        logger.info("tool_decided", tool=decision.tool, safe=decision.safe, by=decision.by, via=via)
    return len(new)


def import_file(text: bytes, *, by: str) -> int:
    """Take over a `side_effects.yaml`; how many decisions are new.

    With `done: false` nothing becomes safe, and what the file calls a side effect is not safe any more.
    """
    file = side_effects_yaml.read(text)
    if file.done:
        return decide(file.tools, by=by, via="yaml")
    held = queries.safety_by_tool()
    return decide({tool: None for tool, safe in file.tools.items() if not safe and held.get(tool)}, by=by, via="yaml")


def export_file(executors: dict[str, str]) -> str:
    """Every tool as decided, else as suggested; `done` only when every one of them was reviewed."""
    tools = queries.listing(executors).tools
    lines = {tool.name: tool.suggestion.safe if tool.safe is None else tool.safe for tool in tools}
    suggested = {tool.name: tool.suggestion.reason for tool in tools if tool.safe is None}
    return side_effects_yaml.write(lines, done=not suggested, suggested=suggested)
