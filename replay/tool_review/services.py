"""Review tools. Every decision is stored permanently with its author, time and origin."""

from collections.abc import Mapping
from typing import Literal

import structlog
from django.db import transaction

from replay.core.errors import SuggestionMismatch
from replay.models import ToolDecision
from replay.tool_review import queries, side_effects_yaml
from traces.audit import audit_log
from traces.core.vocabulary import AuditAction

Source = Literal["page", "yaml", "suggestion"]

logger = structlog.get_logger("replay")


def decide(decisions: Mapping[str, bool | None], *, author: str, source: Source = "page") -> int:
    """Store new decisions in one transaction; returns their number."""
    with transaction.atomic():
        current = queries.safety_by_tool()
        new = [
            ToolDecision(tool=tool, safe=safe, by=author[:120], via=source)
            for tool, safe in decisions.items()
            if current.get(tool) is not safe
        ]
        ToolDecision.objects.bulk_create(new)
        audit_log.append_many(
            AuditAction.TOOL_REVIEWED,
            {decision.tool: {"safe": decision.safe, "via": source} for decision in new},
            by=author,
        )
    for decision in new:
        logger.info("tool_decided", tool=decision.tool, safe=decision.safe, by=decision.by, via=source)
    return len(new)


def accept_suggestions(decisions: Mapping[str, bool | None], executors: dict[str, str], *, author: str) -> int:
    """Store decisions that equal the suggestions of unreviewed tools; returns their number.

    Raises `SuggestionMismatch` and stores nothing if one tool was reviewed or has a different suggestion: a suspected
    side effect or an unknown tool never becomes safe this way.
    """
    with transaction.atomic():
        tools = {tool.name: tool for tool in queries.listing(executors).tools}
        for name, safe in decisions.items():
            tool = tools.get(name)
            if tool is None or tool.safe is not None or safe is None or tool.suggestion.safe is not safe:
                raise SuggestionMismatch(
                    f"the suggestion for “{name}” is out of date: another review or a new run changed it. "
                    "Reload the tools and review them again",
                    where="/decisions",
                )
        return decide(decisions, author=author, source="suggestion")


def import_file(text: bytes, *, author: str) -> int:
    """Take over a `side_effects.yaml`; how many decisions are new.

    With `done: false` no tool becomes safe, and tools that the file calls side effects lose a safe review.
    """
    file = side_effects_yaml.read(text)
    if file.is_reviewed:
        return decide(file.tools, author=author, source="yaml")
    current = queries.safety_by_tool()
    return decide(
        {tool: None for tool, safe in file.tools.items() if not safe and current.get(tool)},
        author=author,
        source="yaml",
    )


def export_file(executors: dict[str, str]) -> str:
    """Export every tool as decided, or else as suggested; `done` is true only if all are reviewed."""
    tools = queries.listing(executors).tools
    lines = {tool.name: bool(tool.suggestion.safe if tool.safe is None else tool.safe) for tool in tools}
    suggestions = {tool.name: tool.suggestion.reason for tool in tools if tool.safe is None}
    return side_effects_yaml.write(lines, is_reviewed=not suggestions, suggestions=suggestions)
