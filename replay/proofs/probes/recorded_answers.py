"""Reading recorded runs for counterfactual replays: their answers by call, and what they came to."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from diffing.content.payload_texts import answer_text
from replay.core.calls import LIVE_REASONS
from replay.core.graph import CONTAINERS
from replay.proofs.counterfactual.coupling import Alike, Coupling, Recorded, Recording, as_signed
from replay.proofs.counterfactual.derivations import Given
from replay.proofs.counterfactual.model_substitutes import Served, replaced
from replay.proofs.counterfactual.outcomes import Result, Used
from replay.proofs.counterfactual.walk_monitor import FAILED
from traces.call_index import ignore_lists
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.models import IgnoreList, Step

_ASKED: Final = "asked"  # in the detail of an answer that the operator gave when he was asked
_COLUMNS: Final = ("sequence_no", "type", "signature", "output_ref", "status", "label", "reason", "detail")
Payload = Callable[[str], JSONValue]


class Signatures:
    """Recorded signatures under one version of an app's ignore list; 0 is the one that leaves out nothing."""

    def __init__(self, app: str, version: int) -> None:
        self._list = IgnoreList.objects.filter(app=app, version=version).first() if version else None
        self._known: dict[str, str] = {}

    def __call__(self, signature: str) -> str:
        return self._known.get(signature, signature)

    def learn(self, run_id: UUID) -> None:
        """Look up the calls of a run."""
        if self._list is not None:
            made = Step.objects.filter(run_id=run_id).exclude(signature="").values_list("signature", flat=True)
            self._known |= ignore_lists.reduced_signatures(self._list, made.distinct())


@dataclass
class Recordings:
    """The recordings of runs, each read once, under one ignore list."""

    alike: Signatures
    _read: dict[UUID, Recording] = field(default_factory=dict)

    def __call__(self, run_id: UUID) -> Recording:
        if run_id not in self._read:
            self.alike.learn(run_id)
            self._read[run_id] = _recording(run_id, self.alike)
        return self._read[run_id]


def coupling(runs: Iterable[UUID], *, replayed: UUID, fork: int, recording: Recordings) -> Coupling:
    """The recordings in the order in which they answer, with the calls before the fork as made."""
    found = [recording(run) for run in dict.fromkeys(runs)]
    before = Step.objects.filter(run_id=replayed, sequence_no__lt=fork).exclude(signature="")
    made = Counter(map(recording.alike, before.values_list("signature", flat=True)))
    return Coupling(recordings=found, made=made, alike=recording.alike)


def _recording(run_id: UUID, alike: Alike) -> Recording:
    """The answers of a run that were really given: no placeholders, no blocked calls, nothing that was made up."""
    found: dict[str, list[Recorded]] = {}
    rows = Step.objects.filter(run_id=run_id).exclude(signature="").order_by("sequence_no")
    for no, type, signature, output_ref, status, label, reason, detail in rows.values_list(*_COLUMNS).iterator(2000):
        if _is_real(type, output_ref, status, label, reason, detail):
            answer = Recorded(run=run_id, step=no, output_ref=output_ref, status=StepStatus(status))
            found.setdefault(alike(signature), []).append(answer)
    return found


def result(run_id: UUID, fork: int, payload: Payload, *, arguments: bool, alike: Alike = as_signed) -> Result:
    """What a run came to from the fork on."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).order_by("sequence_no")
    acting = steps.exclude(type__in=[*CONTAINERS, StepType.OUTPUT])
    status, reason = acting.values_list("status", "reason").last() or ("", "")
    return Result(
        answer=_answer(steps, payload),
        failed=None if reason == Reason.POLICY_FALLBACK else status in FAILED,
        tools=tuple(_used(row, payload if arguments else None, alike) for row in _tools(steps)),
    )


def outputs(run_id: UUID, source: UUID, fork: int) -> Iterator[tuple[int | None, str, Given]]:
    """What a replay gave from the fork on: the number in its source, or None for a new step, the call, the answer."""
    numbers = dict(Step.objects.filter(run_id=source).values_list("id", "sequence_no"))
    rows = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).exclude(type__in=CONTAINERS)
    columns = ("source_step", "signature", "status", "output_ref", "label", "reason")
    for step, signature, status, ref, label, reason in (
        rows.order_by("sequence_no").values_list(*columns).iterator(2000)
    ):
        drawn = label != Label.EXACT and reason != Reason.OPERATOR_OVERRIDE
        yield numbers.get(step), signature, Given(status=status, ref=ref, drawn=drawn)


def guess_in(run_id: UUID, fork: int) -> str:
    """Which last answer of a run nobody gave; empty when it is a real one."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).exclude(output_ref="")
    for type in (StepType.OUTPUT, StepType.MODEL):
        row = steps.filter(type=type).order_by("-sequence_no").values_list("sequence_no", "reason").first()
        if row is not None:
            return f"the answer at step {row[0]} is a placeholder" if row[1] == Reason.POLICY_FALLBACK else ""
    return ""


def borrowed_in(run_id: UUID, fork: int) -> int:
    """How many answers of tools and retrievers the run took from other runs."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, label=Label.CACHED)
    return steps.filter(type__in=(StepType.TOOL, StepType.RETRIEVAL)).count()


def assumed_in(run_id: UUID, fork: int) -> int:
    """How many steps of the run are taken to be unaffected by its changes."""
    return Step.objects.filter(run_id=run_id, sequence_no__gte=fork, reason=Reason.ASSUMED_UNAFFECTED).count()


def cached_from(run_id: UUID, fork: int) -> list[UUID]:
    """The runs that recorded the answers which a run took from the cache."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, label=Label.CACHED, type=StepType.MODEL)
    details = steps.order_by("sequence_no").values_list("detail", flat=True)
    matches = (detail.get("matched") or {} for detail in details.iterator(2000))
    return [UUID(str(match["run"])) for match in matches if "run" in match]


def other_models_of(runs: Iterable[UUID]) -> tuple[str, ...]:
    """The models that answered live calls of these runs in place of those that they ask."""
    wanted = list(dict.fromkeys(runs))
    steps = Step.objects.filter(run_id__in=wanted, reason=Reason.LIVE_MODEL) if wanted else Step.objects.none()
    asked = steps.order_by("run_id", "sequence_no").values_list("provider", "model", "detail")
    found = (
        replaced(
            Served(provider=provider, model=model),
            Served(provider=detail.get("provider") or "", model=detail.get("served_model") or ""),
        )
        for provider, model, detail in asked.iterator(2000)
    )
    return tuple(dict.fromkeys(one for one in found if one))


def _is_real(type: str, output_ref: str, status: str, label: str, reason: str, detail: Any) -> bool:
    if type == StepType.MODEL and (status != StepStatus.OK or not output_ref):
        return False
    if not output_ref and status == StepStatus.OK:
        return False
    asked = reason == Reason.OPERATOR_OVERRIDE and isinstance(detail, dict) and bool(detail.get(_ASKED))
    return label != Label.SIMULATED or reason in LIVE_REASONS or asked


def _answer(steps: QuerySet[Step], payload: Payload) -> str:
    """The text of the last output, or of the last model step where there is no output step."""
    given = steps.exclude(output_ref="").order_by("-sequence_no")
    for type in (StepType.OUTPUT, StepType.MODEL):
        if reference := given.filter(type=type).values_list("output_ref", flat=True).first():
            return answer_text(payload(reference))
    return ""


def _tools(steps: QuerySet[Step]) -> Iterable[tuple[str, str, str, str]]:
    return steps.filter(type=StepType.TOOL).values_list("name", "tool_name", "signature", "input_ref").iterator(2000)


def _used(row: tuple[str, str, str, str], payload: Payload | None, alike: Alike) -> Used:
    name, tool_name, signature, input_ref = row
    arguments = payload(input_ref) if payload is not None and input_ref else None
    return Used(tool=tool_name or name, signature=alike(signature), arguments=arguments)
