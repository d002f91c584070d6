"""Read a page of a run's transcript."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from traces.core.vocabulary import StepType
from traces.models import Edge, Run, Step
from traces.origins import stored_provenance
from traces.payloads.lost_payloads import LostPayload
from traces.redaction_policies.reasons import reasons
from traces.runs import queries
from traces.schemas import LostPayloadView
from traces.storage import artifacts, integrity
from traces.transcripts.incoming import EdgesByConsumer, Incoming, incoming_messages
from traces.transcripts.schemas import Transcript, TranscriptStep, Turn
from traces.transcripts.turns import Cut, answer_text, cut_to, input_turns, message_turn, output_turn

# Steps per response.
MAX_STEPS: Final = 200
# Steps whose input is shown where no model call inside them shows it.
_CONTAINERS: Final = (StepType.AGENT, StepType.TURN)
_NO_MESSAGES: Final = Incoming()


def transcript(run: Run, *, after: int, limit: int, length: int) -> Transcript:
    """Return the turns of the steps after a sequence number, with texts cut to `length` characters."""
    rows = queries.steps(run.id, after=after, limit=limit + 1)
    page = rows[:limit]
    incoming = incoming_messages(run.id, page, _edges(run.id, page))
    builder = _StepBuilder(page, incoming, cut_to(length))
    steps = [builder.build(step) for step in page]
    return Transcript(
        steps=steps,
        redactions=reasons(run.app, [step.model_dump() for step in steps]),
        next=page[-1].sequence_no if len(rows) > limit else None,
    )


def _edges(run_id: UUID, page: Sequence[Step]) -> EdgesByConsumer:
    """Return the edges into the steps of a page, by consumer."""
    if not page:
        return {}
    stored_provenance.ensure(run_id)
    numbers = (page[0].sequence_no, page[-1].sequence_no)
    edges: dict[int, list[Edge]] = {}
    order = ("consumer_no", "producer_no", "kind", "id")
    for edge in Edge.objects.filter(run_id=run_id, consumer_no__range=numbers).order_by(*order):
        edges.setdefault(edge.consumer_no, []).append(edge)
    return edges


class _StepBuilder:
    """Builds the turns of the steps of a page."""

    def __init__(self, page: Sequence[Step], incoming: Mapping[int, Incoming], cut: Cut) -> None:
        self._incoming = incoming
        self._cut = cut
        self._answers = _answers_before_outputs(page)
        refs = {step.output_ref for step in page} | {step.input_ref for step in page if step.type in _CONTAINERS}
        refs |= {ref for ref, _ in self._answers.values()}
        self._payloads = artifacts.readable(refs)

    def build(self, step: Step) -> TranscriptStep:
        """Return the turns of a step."""
        messages = self._incoming.get(step.sequence_no, _NO_MESSAGES)
        return TranscriptStep(
            sequence_no=step.sequence_no,
            incoming=self._inputs(step) or [message_turn(message, self._cut) for message in messages.messages],
            more_incoming=messages.more,
            content=self._output(step),
            repeats=self._repeated_step(step),
            error=self._cut(step.error),
            losses=[LostPayloadView.model_validate(payload.document) for payload in self._losses(step)],
        )

    def _inputs(self, step: Step) -> list[Turn]:
        if step.type not in _CONTAINERS:
            return []
        return input_turns(self._payloads.values.get(step.input_ref), self._cut)

    def _output(self, step: Step) -> Turn | None:
        value = self._payloads.values.get(step.output_ref)
        return None if value is None else output_turn(value, self._cut)

    def _repeated_step(self, step: Step) -> int | None:
        """Return the model step whose answer an output step repeats."""
        if step.sequence_no not in self._answers:
            return None
        ref, number = self._answers[step.sequence_no]
        text = answer_text(self._payloads.values.get(step.output_ref))
        return number if text and answer_text(self._payloads.values.get(ref)) == text else None

    def _losses(self, step: Step) -> Sequence[LostPayload]:
        refs = {"input": step.input_ref, "output": step.output_ref}
        refs = {field: ref for field, ref in refs.items() if ref and self._is_loaded(step, field)}
        return integrity.find_lost({field: ref for field, ref in refs.items() if self._payloads.lacks(ref)})

    def _is_loaded(self, step: Step, field: str) -> bool:
        return field == "output" or step.type in _CONTAINERS


def _answers_before_outputs(page: Sequence[Step]) -> dict[int, tuple[str, int]]:
    """Return the last model step before each output step of a page: its output and its number."""
    if not any(step.type == StepType.OUTPUT and step.output_ref for step in page):
        return {}
    answers: dict[int, tuple[str, int]] = {}
    last = _answer_before(page[0])
    for step in page:
        if step.type == StepType.MODEL:
            last = (step.output_ref, step.sequence_no)
        elif step.type == StepType.OUTPUT and step.output_ref and last is not None:
            answers[step.sequence_no] = last
    return answers


def _answer_before(first: Step) -> tuple[str, int] | None:
    """Return the output and the number of the last model step before a page."""
    models = Step.objects.filter(run_id=first.run_id, type=StepType.MODEL, sequence_no__lt=first.sequence_no)
    return models.order_by("-sequence_no").values_list("output_ref", "sequence_no").first()
