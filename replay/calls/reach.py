"""Reach of changes through input of unknown origin. Pure.

A step that consumes nothing that changed is *independent* of a change where all of its input is explained without it,
and else nobody knows. Such a step keeps its recorded output, on the assumption that it is unaffected; so does what
consumes that output.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from replay.calls.handed_results import HandedResults
from replay.core.context import ReplayContext
from replay.core.graph import CONTAINERS, Link, Node
from replay.core.wording import step_list
from replay.detection.implicit_calls import ImplicitCalls
from replay.inputs.witnesses import is_configuration
from replay.state.replay_state import ReplayState
from traces.core.json_types import JSONObject
from traces.core.vocabulary import EdgeKind, StepType
from traces.provenance.input_origins import UnexplainedContent

_CALLS: Final = "/message/tool_calls/"
_LISTED: Final = 8  # steps and contents in an explanation


class Reach:
    """Decides which steps the changes of a replay may have reached."""

    def __init__(
        self, context: ReplayContext, state: ReplayState, implicit: ImplicitCalls, handed: HandedResults
    ) -> None:
        self._context = context
        self._state = state
        self._implicit = implicit
        self._handed = handed

    def assumption(self, node: Node) -> JSONObject | None:
        """Explain why a change may reach a step without a link; None if it cannot."""
        if node.type in CONTAINERS or not self._state.changed:
            return None
        links = self._handed.links(node.no)
        through = sorted({link.producer for link in links if link.producer in self._state.assumed})
        linked = {link.producer for link in links if self._is_unplaced(link)}
        steps, contents = self._unexplained(node)
        steps |= linked
        if not steps and not through:
            return None
        self._state.assumed.add(node.no)
        content: list[JSONObject] = [
            {"path": item.path, "since": item.first_step, "snippet": item.snippet} for item in contents[:_LISTED]
        ]
        return {
            "assumed": {"steps": [*sorted(steps)[:_LISTED]], "through": [*through[:_LISTED]], "content": [*content]}
        }

    def _is_unplaced(self, link: Link) -> bool:
        """True if a link carries a change, but its new content in the input is unknown."""
        change = self._state.changes.get(link.producer)
        if change is None or link.producer_path.startswith(_CALLS):
            return False  # what a placeholder asks for is taken to be what was recorded
        return link.kind is EdgeKind.LINK or (not change.is_known and link.kind in (EdgeKind.TEXT, EdgeKind.VALUE))

    def _unexplained(self, node: Node) -> tuple[set[int], list[UnexplainedContent]]:
        """Changed steps that may be the source of unexplained content, and that content, latest first."""
        steps: set[int] = set()
        contents: list[UnexplainedContent] = []
        for item in sorted(node.unexplained, key=lambda item: -item.first_step):
            if item.first_step <= self._state.changed[0]:
                break
            if sources := self._sources(node, item):
                steps.update(sources)
                contents.append(item)
        return steps, contents

    def _sources(self, node: Node, item: UnexplainedContent) -> list[int]:
        graph = self._context.graph
        began = graph.by_no.get(item.first_step, node).started_at
        called = self._call_around(node)
        found: list[int] = []
        for no in self._before(item.first_step):
            if no < called <= item.first_step:
                continue
            change = self._state.changes[no]
            if not _began_before_end(began, change.node) and not is_configuration(
                node, item, change, graph.witnesses, self._context.payload
            ):
                found.append(no)
                if len(found) == _LISTED:
                    break
        return found

    def _call_around(self, node: Node) -> int:
        """Outermost step around a step (or the step itself) that answers a call; 0 if none does.

        What is done for a call follows from the call, as the recorded answer of any tool is taken to do.
        """
        implicit, outermost = self._implicit, 0
        if node.type is StepType.RETRIEVAL and implicit.call_of(node) is not None:
            outermost = node.no
        for around in self._context.graph.ancestors(node):
            if around.type is StepType.TOOL or implicit.call_of(around) is not None:
                outermost = around.no
        return outermost

    def _before(self, no: int) -> Iterator[int]:
        return (
            one
            for one in islice(self._state.changed, bisect_left(self._state.changed, no))
            if one in self._state.changes
        )


def explanation(assumption: JSONObject) -> str:
    """Explain an assumption in one sentence."""
    why = assumption["assumed"]
    if not isinstance(why, dict):
        raise TypeError("not an assumption")
    steps, through, content = why["steps"], why["through"], why["content"]
    numbers = [int(str(no)) for no in (*_list(steps), *_list(through))]
    where = f"{step_list(sorted(set(numbers)))} may have made part of its input"
    first = next(iter(_list(content)), None)
    if isinstance(first, dict):
        place = first["path"] or "its input"
        return f"Assumed unaffected: {where}; the origin of {place} is not known ({first['snippet']})"
    return f"Assumed unaffected, as the steps are from which its input comes: {step_list(sorted(set(numbers)))}"


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _began_before_end(began: datetime | None, producer: Node) -> bool:
    """True if recorded times prove that a step started before another one ended."""
    if began is None or producer.started_at is None or producer.duration_ms is None:
        return False
    return began < producer.started_at + timedelta(milliseconds=producer.duration_ms)
