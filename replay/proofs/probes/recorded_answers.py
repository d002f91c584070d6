"""Read recorded runs for counterfactual replays: answers by call, results and outputs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet

from diffing.content.payload_texts import answer_text
from replay.core.calls import LIVE_REASONS
from replay.core.errors import UnreadableAnswer
from replay.core.graph import CONTAINERS
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer, Recording, Reduce, identity
from replay.proofs.counterfactual.derivations import StepAnswer
from replay.proofs.counterfactual.model_substitutes import ServedModel, substitution
from replay.proofs.counterfactual.outcomes import Result, SignedCall
from replay.proofs.counterfactual.replay_monitor import FAILED
from replay.store import mcp_servers
from traces.call_index import ignore_lists
from traces.core.json_access import member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType
from traces.errors import ArtifactCorrupt, ArtifactMissing
from traces.models import IgnoreList, Step
from traces.payloads.replay_labels import origin_reason

# A field in the detail of an answer that the operator gave to a question.
_OPERATOR_QUESTION: Final = "asked"
# Of steps without an outcome that can be relied on.
_UNKNOWN_REASONS: Final = frozenset({Reason.POLICY_FALLBACK, Reason.SOURCE_OUTPUT_UNVERIFIED})
# Of steps that really ran: in a live call, or in the agent.
_REAL_REASONS: Final = LIVE_REASONS | {Reason.AGENT_RAN}
_COLUMNS: Final = ("sequence_no", "type", "signature", "output_ref", "status", "label", "reason", "detail")
_TOOL_COLUMNS: Final = ("tool_name", "name", "attributes_ref")
Payload = Callable[[str], JSONValue]


class Signatures:
    """Reduces recorded signatures by one version of an app's ignore list; version 0 ignores nothing."""

    def __init__(self, app: str, version: int) -> None:
        self._list = IgnoreList.objects.filter(app=app, version=version).first() if version else None
        self._reductions: dict[str, str] = {}

    def __call__(self, signature: str) -> str:
        return self._reductions.get(signature, signature)

    def load(self, run_id: UUID) -> None:
        """Reduce the signatures of a run's calls."""
        if self._list is not None:
            rows = Step.objects.filter(run_id=run_id).exclude(signature="").values_list("signature", flat=True)
            self._reductions |= ignore_lists.reduced_signatures(self._list, rows.distinct())


@dataclass
class Recordings:
    """The recordings of runs under one ignore list. Calling it loads a run once."""

    signatures: Signatures
    _by_run: dict[UUID, Recording] = field(default_factory=dict)

    def __call__(self, run_id: UUID) -> Recording:
        if run_id not in self._by_run:
            self.signatures.load(run_id)
            self._by_run[run_id] = _recording(run_id, self.signatures)
        return self._by_run[run_id]


def coupling(
    runs: Iterable[UUID],
    *,
    source: UUID,
    fork: int,
    load: Recordings,
    counterparts: Mapping[tuple[UUID, int], RecordedAnswer],
) -> Coupling:
    """The recordings in the order in which they answer; the source's calls before the fork count as made."""
    recordings = [load(run) if run == source else _of_same_servers(load(run), source) for run in dict.fromkeys(runs)]
    before = Step.objects.filter(run_id=source, sequence_no__lt=fork).exclude(signature="")
    call_counts = Counter(map(load.signatures, before.values_list("signature", flat=True)))
    return Coupling(recordings=recordings, counterparts=counterparts, call_counts=call_counts, reduce=load.signatures)


def _recording(run_id: UUID, reduce: Reduce) -> Recording:
    """The real answers of a run: no placeholders, blocked calls or made-up outputs."""
    answers: dict[str, list[RecordedAnswer]] = {}
    rows = Step.objects.filter(run_id=run_id).exclude(signature="").order_by("sequence_no")
    columns = rows.values_list(*_COLUMNS, *_TOOL_COLUMNS).iterator(2000)
    for no, type, signature, output_ref, status, label, reason, detail, tool, name, attributes_ref in columns:
        if _is_real(type, output_ref, status, label, reason, detail):
            call = {"tool": tool or name, "attributes_ref": attributes_ref} if type == StepType.TOOL else {}
            answer = RecordedAnswer(run=run_id, step=no, output_ref=output_ref, status=StepStatus(status), **call)
            answers.setdefault(reduce(signature), []).append(answer)
    return answers


def _of_same_servers(recording: Recording, source: UUID) -> Recording:
    """Leave out what other MCP servers answered than those from which a run has its tools."""
    if not mcp_servers.has_any(source):
        return recording
    return {
        signature: [answer for answer in answers if mcp_servers.may_answer(source, answer.tool, answer.attributes_ref)]
        for signature, answers in recording.items()
    }


def result(run_id: UUID, fork: int, payload: Payload, *, arguments: bool, reduce: Reduce = identity) -> Result:
    """The result of a run from the fork on. Raises `UnreadableAnswer`."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).order_by("sequence_no")
    acting = steps.exclude(type__in=[*CONTAINERS, StepType.OUTPUT])
    status, reason, detail = acting.values_list("status", "reason", "detail").last() or ("", "", {})
    return Result(
        answer=_answer(run_id, steps, payload),
        failed=None if origin_reason(reason, detail) in _UNKNOWN_REASONS else status in FAILED,
        tools=tuple(_signed_call(row, payload if arguments else None, reduce) for row in _tools(steps)),
    )


def outputs(run_id: UUID, source: UUID, fork: int) -> Iterator[tuple[int | None, str, StepAnswer]]:
    """A replay's outputs from the fork on: number in the source (None: a new step), call signature, answer."""
    numbers = dict(Step.objects.filter(run_id=source).values_list("id", "sequence_no"))
    rows = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).exclude(type__in=CONTAINERS)
    columns = ("source_step", "signature", "status", "output_ref", "label", "reason")
    for step, signature, status, ref, label, reason in (
        rows.order_by("sequence_no").values_list(*columns).iterator(2000)
    ):
        is_new = label != Label.EXACT and reason not in (Reason.OPERATOR_OVERRIDE, Reason.SOURCE_OUTPUT_REUSED)
        yield numbers.get(step), signature, StepAnswer(status=status, ref=ref, is_new=is_new)


def placeholder_step(run_id: UUID, fork: int) -> int | None:
    """The step of a run's last answer if that is a placeholder; None if it is a real answer."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork).exclude(output_ref="")
    for type in (StepType.OUTPUT, StepType.MODEL):
        row = steps.filter(type=type).order_by("-sequence_no").values_list("sequence_no", "reason", "detail").first()
        if row is not None:
            return row[0] if origin_reason(*row[1:]) in _UNKNOWN_REASONS else None
    return None


def borrowed_in(run_id: UUID, fork: int) -> int:
    """The number of tool and retriever answers that the run took from other runs."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, label=Label.CACHED)
    return (
        steps.exclude(reason=Reason.SOURCE_OUTPUT_REUSED).filter(type__in=(StepType.TOOL, StepType.RETRIEVAL)).count()
    )


def assumed_in(run_id: UUID, fork: int) -> int:
    """The number of the run's steps that are assumed to be unaffected by its changes."""
    return Step.objects.filter(run_id=run_id, sequence_no__gte=fork, reason=Reason.ASSUMED_UNAFFECTED).count()


def cached_from(run_id: UUID, fork: int) -> list[UUID]:
    """The runs that recorded the model answers which a run took from the cache."""
    steps = Step.objects.filter(run_id=run_id, sequence_no__gte=fork, label=Label.CACHED, type=StepType.MODEL)
    details = steps.order_by("sequence_no").values_list("detail", flat=True)
    matches = (detail.get("matched") or {} for detail in details.iterator(2000))
    return [UUID(str(match["run"])) for match in matches if "run" in match]


def other_models_of(runs: Iterable[UUID]) -> tuple[str, ...]:
    """The models that answered live calls of these runs in place of the requested ones."""
    run_ids = list(dict.fromkeys(runs))
    steps = Step.objects.filter(run_id__in=run_ids, reason=Reason.LIVE_MODEL) if run_ids else Step.objects.none()
    rows = steps.order_by("run_id", "sequence_no").values_list("provider", "model", "detail")
    substitutions = (
        substitution(
            ServedModel(provider=provider, model=model),
            ServedModel(provider=detail.get("provider") or "", model=detail.get("served_model") or ""),
        )
        for provider, model, detail in rows.iterator(2000)
    )
    return tuple(dict.fromkeys(filter(None, substitutions)))


def _is_real(type: str, output_ref: str, status: str, label: str, reason: str, detail: Any) -> bool:
    if type == StepType.MODEL and (status != StepStatus.OK or not output_ref):
        return False
    if not output_ref and status == StepStatus.OK:
        return False
    is_override = reason == Reason.OPERATOR_OVERRIDE
    by_operator = is_override and bool(member(detail, _OPERATOR_QUESTION))
    return label != Label.SIMULATED or origin_reason(reason, detail) in _REAL_REASONS or by_operator


def _answer(run_id: UUID, steps: QuerySet[Step], payload: Payload) -> str:
    """The text of the last output, or of the last model step if there is no output step."""
    outputs = steps.exclude(output_ref="").order_by("-sequence_no")
    for type in (StepType.OUTPUT, StepType.MODEL):
        if (row := outputs.filter(type=type).values_list("sequence_no", "output_ref").first()) is None:
            continue
        step, reference = row
        try:
            return answer_text(payload(reference))
        except (ArtifactMissing, ArtifactCorrupt) as problem:
            raise UnreadableAnswer(run_id, step, problem) from problem
    return ""


def _tools(steps: QuerySet[Step]) -> Iterable[tuple[str, str, str, str]]:
    return steps.filter(type=StepType.TOOL).values_list("name", "tool_name", "signature", "input_ref").iterator(2000)


def _signed_call(row: tuple[str, str, str, str], payload: Payload | None, reduce: Reduce) -> SignedCall:
    name, tool_name, signature, input_ref = row
    arguments = payload(input_ref) if payload is not None and input_ref else None
    return SignedCall(tool=tool_name or name, signature=reduce(signature), arguments=arguments)
