"""Facets of a pair: the differences of its payloads, and the parts that are lost. Pure."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from diffing.compare.comparison import Pair
from diffing.compare.data_flow import SideName
from diffing.compare.placeholders import FAILED
from diffing.compare.run_side import SideStep
from diffing.content.facet import Facet, FacetKind, section_of
from diffing.content.facet_readers import reader_of
from diffing.schemas.terms import Category
from diffing.sequences.json_diff import differ
from diffing.sequences.text_diff import normalise
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Reason, StepStatus, StepType
from traces.payloads.missing_parts import comparable
from traces.signatures.ignore_rules import NO_RULES, IgnoreRules

Payloads = Mapping[str, JSONValue]
# Without an output, a step of these types has lost it; a tool may return nothing.
_ANSWERS: Final = frozenset({StepType.MODEL, StepType.RETRIEVAL, StepType.PROMPT})
_MODEL: Final = FacetKind("model", "model", "config", "model")
_CATEGORIES: Final[Mapping[StepType, Category]] = {
    StepType.MODEL: "output",
    StepType.TOOL: "tool",
    StepType.RETRIEVAL: "retrieval",
    StepType.PROMPT: "prompt",
    StepType.OUTPUT: "output",
}


class MissingPayload(LookupError):
    """A recorded payload is not in the store; `missing_refs` has its digests by side."""

    def __init__(self, part: str, missing_refs: Mapping[SideName, str]) -> None:
        super().__init__(part, missing_refs)
        self.part, self.missing_refs = part, missing_refs


def facets(pair: Pair, payloads: Payloads, ignoring: IgnoreRules = NO_RULES) -> Iterator[Facet]:
    """The facets of a differing pair, without ignored fields; raises `MissingPayload`."""
    if pair.sides is None:
        return
    base, candidate = pair.sides
    reader = reader_of(StepType(base.type))
    if base.input_ref and candidate.input_ref and base.input_ref != candidate.input_ref:
        inputs = _load("input", base.input_ref, candidate.input_ref, payloads)
        left, right = (
            ignoring.reduce(StepType(step.type), step.tool_name or step.name, value)
            for step, value in zip((base, candidate), inputs, strict=True)
        )
        if left != right:
            yield from filter(_is_difference, reader.inputs(pair, left, right))
    if (base.provider, base.model) != (candidate.provider, candidate.model):
        yield _MODEL.facet(pair, _model(base), _model(candidate))
    if base.output_ref != candidate.output_ref and not _is_unrecorded(base, candidate):
        outputs = _load("output", base.output_ref, candidate.output_ref, payloads)
        yield from filter(_is_difference, reader.outputs(pair, *outputs))
    if (base.status, base.error) != (candidate.status, candidate.error):
        yield _status_facet(pair, base, candidate)


def _is_difference(facet: Facet) -> bool:
    """True if the two sides of a facet are not equal as values."""
    return facet.form != "values" or differ(facet.base, facet.candidate)


def differs_in_form(facet: Facet) -> bool:
    """True if two texts of an output differ only in spaces, line ends, the encoding of characters, or as equal JSON."""
    if facet.form != "text" or facet.part != "output":
        return False
    base, candidate = (_without_form(text) if isinstance(text, str) else text for text in (facet.base, facet.candidate))
    return base == candidate


def _without_form(text: str) -> str:
    """The normalised text; if all of it is a JSON object or list, with its members in order and without spaces."""
    text = normalise(text)
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        return json.dumps(_EXACT_JSON.decode(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _exact_float(text: str) -> float:
    """A number with a fraction or an exponent; raises `ValueError` if a float has not all of its digits."""
    value = float(text)
    if Decimal(text) != Decimal(repr(value)):
        raise ValueError(f"{text} is not exact as a float")
    return value


def _unique_members(members: list[tuple[str, JSONValue]]) -> JSONObject:
    if len(value := dict(members)) < len(members):
        raise ValueError("a member occurs twice")
    return value


# Not orjson: integers of more than 64 bits would lose digits, and others be called equal.
_EXACT_JSON: Final = json.JSONDecoder(parse_float=_exact_float, object_pairs_hook=_unique_members)


def _is_unrecorded(*steps: SideStep) -> bool:
    """True if an output was not recorded: that is no other output.

    It is that of a model that answered, a search that succeeded or a prompt, or one that a replay of the same call
    could only replace by a placeholder.
    """
    if steps[0].type in _ANSWERS and any(not step.output_ref and step.status == StepStatus.OK for step in steps):
        return True
    is_same_call = steps[0].input_ref == steps[1].input_ref
    unrecorded_steps = [step for step in steps if not step.output_ref and step.status not in FAILED]
    return is_same_call and bool(unrecorded_steps) and any(step.reason == Reason.POLICY_FALLBACK for step in steps)


def _load(part: str, base: str, candidate: str, payloads: Payloads) -> tuple[JSONValue, JSONValue]:
    """The recorded payloads of both sides; raises `MissingPayload`."""
    refs: tuple[tuple[SideName, str], ...] = (("base", base), ("candidate", candidate))
    missing_refs = {side: ref for side, ref in refs if ref and ref not in payloads}
    if missing_refs:
        raise MissingPayload(part, missing_refs)
    return comparable(payloads.get(base), payloads.get(candidate), set())


def lost_parts(pair: Pair, payloads: Payloads) -> Iterator[tuple[str, str]]:
    """The lost parts of a pair's payloads, which cannot be compared: input or output, and the digest."""
    for part in ("input", "output") if pair.sides else ():
        refs = [getattr(step, f"{part}_ref") for step in pair.sides or ()]
        if all(refs) and refs[0] != refs[1] and not any(ref not in payloads for ref in refs):
            lost_digests: set[str] = set()
            comparable(payloads[refs[0]], payloads[refs[1]], lost_digests)
            for digest in sorted(lost_digests):
                yield part, digest


def _model(step: SideStep) -> JSONValue:
    return {"provider": step.provider, "model": step.model}


def _status_facet(pair: Pair, base: SideStep, candidate: SideStep) -> Facet:
    step_type = StepType(base.type)
    kind = FacetKind("status", section_of(step_type), "output", _CATEGORIES.get(step_type, "structure"))
    return kind.facet(pair, _status(base), _status(candidate))


def _status(step: SideStep) -> JSONValue:
    return {"status": str(step.status), "error": step.error}
