"""Events of Inspect that are no steps: what a sandbox did, notes of solvers, log lines, limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

_LINKS: Final = frozenset({"uuid", "span_id", "working_start", "pending"})


@dataclass(kw_only=True)
class Reports:
    """Events with the keys of their containers, in order."""

    events: list[tuple[JSONObject, str]] = field(default_factory=list)

    def add(self, event: JSONObject, container: str) -> None:
        self.events.append((event, container))

    def attach(
        self, steps: Iterable[RecordedStep], owners: Mapping[str, str]
    ) -> tuple[list[RecordedStep], list[JSONValue]]:
        """Return the steps, tools with the events in their spans as an attribute, and all other events."""
        steps = list(steps)
        tools = {step.key: step for step in steps if step.type is StepType.TOOL}
        events_of_tools: dict[str, list[JSONValue]] = {}
        general_events: list[JSONValue] = []
        for event, container in self.events:
            # A tool takes the place of its span after the events in it.
            key = owners.get(as_text(event.get("span_id")), container)
            facts: JSONObject = {name: item for name, item in event.items() if name not in _LINKS and item is not None}
            (events_of_tools.setdefault(key, []) if key in tools else general_events).append(facts)
        return [_with_events(step, events_of_tools.get(step.key, [])) for step in steps], general_events


def _with_events(step: RecordedStep, events: list[JSONValue]) -> RecordedStep:
    return replace(step, attributes={**step.attributes, "events": events}) if events else step
