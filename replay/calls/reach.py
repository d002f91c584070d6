"""Reach of changes through input of unknown origin. Pure.

A step without a link to a change is *independent* of it if other sources explain all of its input. If not, the step
keeps its recorded output on the assumption that it is unaffected. The same holds for steps that consume that output.
"""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from replay.calls.call_ids import requests
from replay.calls.implicit_results import ImplicitResults
from replay.core.context import ReplayContext
from replay.core.graph import CONTAINERS, Link, Node
from replay.core.wording import step_list
from replay.detection.implicit_calls import KINDS as IMPLICIT_KINDS
from replay.detection.implicit_calls import ImplicitCalls
from replay.inputs.changes import Change
from replay.inputs.value_pointers import resolve_pointer
from replay.inputs.witnesses import is_configuration
from replay.state.replay_state import ReplayState
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import ModelAnswer
from traces.provenance.input_origins import UnexplainedContent

_CALLS: Final = "/message/tool_calls/"
_LIST_LIMIT: Final = 8  # steps and contents in an explanation


class Reach:
    """Decides which steps the changes of a replay may have reached."""

    def __init__(
        self, context: ReplayContext, state: ReplayState, implicit: ImplicitCalls, implicit_results: ImplicitResults
    ) -> None:
        self._context = context
        self._state = state
        self._implicit = implicit
        self._implicit_results = implicit_results

    def assumption(self, node: Node) -> JSONObject | None:
        """Explain why a change may reach a step without a link; None if it cannot."""
        if not self._state.changed_numbers or (node.type in CONTAINERS and node.no in self._context.graph.children):
            return None
        links = self._implicit_results.links(node.no)
        upstream = {link.producer for link in links if self._is_assumed(link)}
        upstream_steps = sorted(upstream | self._assumed_calls_around(node))
        unplaced_links = [link for link in links if self._is_unplaced(link)]
        steps, items = self._unexplained_sources(node)
        steps |= {link.producer for link in unplaced_links}
        steps |= {change.node.no for change in self.later_answers(node)}
        if not steps and not upstream_steps:
            return None
        item_details: list[JSONObject] = [
            {"path": item.path, "since": item.first_step, "snippet": item.snippet} for item in items[:_LIST_LIMIT]
        ]
        return {
            "assumed": {
                "steps": [*sorted(steps)[:_LIST_LIMIT]],
                "through": [*upstream_steps[:_LIST_LIMIT]],
                "content": [*item_details],
                "requested_by": [*sorted({link.producer for link in unplaced_links if _is_request(link)})],
            }
        }

    def later_answers(self, node: Node) -> list[Change]:
        """Return the changed answers after the one that an output step repeats: the run may end with them instead.

        An agent whose model requested a call at last ends with an earlier text. If the model now answers, it has
        another end. The same holds for an answer that is not known.
        """
        if node.type is not StepType.OUTPUT or node.input_ref:
            return []
        last = max((link.producer for link in self._implicit_results.links(node.no)), default=0)
        changes = [self._state.changes[no] for no in self._changed_before(node.no) if no > last]
        answers = [change for change in changes if change.node.type is StepType.MODEL]
        return [change for change in answers if not change.is_known or ModelAnswer(change.current).text]

    def _is_assumed(self, link: Link) -> bool:
        repeats_request = link.kind is EdgeKind.HISTORY and link.producer in self._state.assumed_requests
        return repeats_request or link.producer in self._state.assumed_steps

    def _is_unplaced(self, link: Link) -> bool:
        """True if the new content of a changed step in the input is unknown."""
        change = self._state.changes.get(link.producer)
        if change is None:
            return link.producer in self._state.skipped_steps
        if _is_request(link):
            return not self._may_request(link, change)
        if change.node.type is StepType.TOOL and self._has_other_status(change.node):
            # A request may not show it, but code reads it.
            return True
        return link.kind is EdgeKind.LINK or not (change.is_known or link.repeats_request)

    def _has_other_status(self, node: Node) -> bool:
        return self._state.statuses.get(node.no, node.status) is not node.status

    def _may_request(self, link: Link, change: Change) -> bool:
        """True if an answer requests the recorded call, or if a plan does not know this live answer yet.

        A loop that is followed makes only requested calls.
        """
        if not change.is_known:
            return self._state.depends_on_live(link.producer)
        if link.producer not in self._state.unfollowed_steps:
            return True
        try:
            call = resolve_pointer(change.original, link.producer_path.removesuffix("/arguments"))
        except LookupError:
            # The recorded answer is unreadable, so nothing shows what it requested.
            return False
        return requests(ModelAnswer(change.current).message, as_object(call))

    def _unexplained_sources(self, node: Node) -> tuple[set[int], list[UnexplainedContent]]:
        """Changed steps that may be the source of unexplained content, and that content, latest first."""
        steps: set[int] = set()
        items: list[UnexplainedContent] = []
        contents = (_unrecorded_inside(node),) if node.type in CONTAINERS else node.unexplained
        if not contents:
            return steps, items
        first_change = self._state.changed_numbers[0]
        later_items = [item for item in contents if item.first_step > first_change]
        for item in sorted(later_items, key=lambda item: -item.first_step):
            if sources := self._sources(node, item):
                steps.update(sources)
                items.append(item)
        return steps, items

    def _sources(self, node: Node, item: UnexplainedContent) -> list[int]:
        graph = self._context.graph
        start = graph.by_no.get(item.first_step, node).started_at
        call_step = self._enclosing_call(node)
        sources: list[int] = []
        for no in self._changed_before(item.first_step):
            if no < call_step <= item.first_step:
                continue
            change = self._state.changes[no]
            if not _began_before_end(start, change.node) and not is_configuration(
                node, item, change, graph.witnesses, self._context.payload
            ):
                sources.append(no)
                if len(sources) == _LIST_LIMIT:
                    break
        return sources

    def _enclosing_call(self, node: Node) -> int:
        """Outermost step around a step (or the step itself) that answers a call; 0 if none does.

        Steps inside a call are assumed to depend on the call alone, like the recorded answer of any tool.
        """
        implicit, outermost = self._implicit, 0
        if node.type in IMPLICIT_KINDS and implicit.call_of(node) is not None:
            outermost = node.no
        for ancestor in self._context.graph.ancestors(node):
            if ancestor.type is StepType.TOOL or implicit.call_of(ancestor) is not None:
                outermost = ancestor.no
        return outermost

    def _assumed_calls_around(self, node: Node) -> set[int]:
        """Calls around a step that rest on an assumption, and whose arguments it may have read."""
        calls = [
            ancestor.no
            for ancestor in self._context.graph.ancestors(node)
            if ancestor.type is StepType.TOOL and ancestor.no in self._state.assumed_steps
        ]
        return {no for no in calls if any(item.first_step >= no for item in node.unexplained)}

    def _changed_before(self, no: int) -> Iterator[int]:
        return (
            producer
            for producer in islice(self._state.changed_numbers, bisect_left(self._state.changed_numbers, no))
            if producer in self._state.changes
        )


def explanation(assumption: JSONObject) -> str:
    """Explain an assumption in one sentence."""
    details = as_object(assumption["assumed"])
    numbers = (*as_list(details["steps"]), *as_list(details["through"]))
    source_text = step_list(no for no in numbers if isinstance(no, int))
    first = next(iter(as_list(details["content"])), None)
    if isinstance(first, dict):
        return (
            f"Assumed unaffected: {source_text} may have contributed to its input; "
            f"the origin of {first['path'] or 'its input'} is unknown ({first['snippet']})"
        )
    if callers := [no for no in as_list(details["requested_by"]) if isinstance(no, int)]:
        return f"Assumed unaffected: it is unknown whether {step_list(callers)} would still request this call"
    if details["steps"] and not details["through"]:
        return f"Assumed unaffected: {source_text} changed in a way that its input does not show"
    return f"Assumed unaffected because its input rests on such an assumption: {source_text}"


def _unrecorded_inside(node: Node) -> UnexplainedContent:
    """Whatever an agent or turn without recorded steps read."""
    return UnexplainedContent(path="", first_step=node.no, snippet="no step inside it was recorded", digest="")


def _is_request(link: Link) -> bool:
    """True if a link leads from a model's request for a call to the call."""
    return link.producer_path.startswith(_CALLS)


def _began_before_end(start: datetime | None, producer: Node) -> bool:
    """True if recorded times prove that a step started before another one ended."""
    if start is None or producer.started_at is None or producer.duration_ms is None:
        return False
    return start < producer.started_at + timedelta(milliseconds=producer.duration_ms)
