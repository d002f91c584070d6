"""Calls of tools and searches that got what another run recorded."""

from collections.abc import Iterable

from traces.core.json_access import as_integer, as_object, as_text
from traces.core.json_types import JSONObject
from traces.ingest.step_rows import StepRow
from traces.models import Step


class SharedAnswers:
    """The answers of other runs that a rerun got: the name of each tool and the place of its answer, in order."""

    def __init__(self, answers: Iterable[tuple[str, JSONObject]]) -> None:
        self._answers: dict[str, list[tuple[str, JSONObject]]] = {}
        for name, detail in answers:
            self._answers.setdefault(name, []).append((_input_ref(detail), detail))

    def take(self, row: StepRow, *, is_known: bool) -> JSONObject | None:
        """Return where the answer of a step was recorded, if that was another run.

        The step has the input of the recorded call, or is none of those in the agent's own recording (`is_known`).
        """
        answers = self._answers.get(row.tool_name or row.name, [])
        same_inputs = [answer for answer in answers if answer[0] == row.input_ref]
        candidates = same_inputs or ([] if is_known else answers)
        if not candidates:
            return None
        answers.remove(candidates[0])
        return candidates[0][1]


def _input_ref(detail: JSONObject) -> str:
    place = as_object(detail.get("matched"))
    steps = Step.objects.filter(run_id=as_text(place.get("run")), sequence_no=as_integer(place.get("step")) or 0)
    return steps.values_list("input_ref", flat=True).first() or ""
