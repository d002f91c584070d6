"""One example of every typed case of a report's headline."""

from collections.abc import Iterator
from itertools import product

from diffing.sentences import headlines
from diffing.sentences.headlines import ProofKind
from diffing.sentences.verdicts import (
    Answer,
    AnswerChange,
    Call,
    CallChange,
    Changes,
    Consequence,
    Result,
    ResultChange,
    SingleCause,
)
from tests.unit.diffing.sentences.examples import MODEL, PROMPT, facet, facets, verdicts
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Reason

NAME = "One added sentence in the system prompt"
LONG = "Order totals are in cents, refunds are in euros: convert before you refund."
NOT_RUN = Answer(kind=AnswerChange.NOT_RUN, tool="issue_refund", reason=Reason.SIDE_EFFECT_BLOCKED)


def edits() -> Iterator[str]:
    """Edits of a prompt that are too long to quote."""
    texts = [
        ("", LONG),
        (LONG, ""),
        ("Be kind.", f"Be kind. {LONG}"),
        ("Be kind.", f"Be kind. {LONG} Then answer."),
        (f"Be kind. {LONG}", "Be kind."),
        ("Be kind.", f"Be kind. {LONG.removesuffix('.')}"),
        ("Be kind.", LONG),
    ]
    yield from (headlines.change_name(facet("system prompt", base, candidate)) for base, candidate in texts)
    returns: JSONValue = {"state": LONG, "reason": LONG}
    refunds: JSONValue = {"state": f"Not {LONG}", "reason": f"Not {LONG}"}
    yield headlines.change_name(facet("result", returns, refunds))


def effects() -> Iterator[str]:
    """Long values, and steps that did not run."""
    call = Call(kind=CallChange.ARGUMENT_CHANGED, tool="search", argument="query", base=LONG, candidate=LONG)
    result = Result(kind=ResultChange.FIELD, tool="search", field="status", base=LONG, candidate=LONG)
    short = Result(kind=ResultChange.FIELD, tool="search", field="status", base="empty", candidate="full")
    stories = [
        Consequence(answer=Answer(), call=call, result=short),
        Consequence(answer=Answer(), result=result),
        Consequence(answer=NOT_RUN, call=call),
        Consequence(answer=NOT_RUN),
    ]
    for story, is_suspicion in product(stories, (False, True)):
        verdict = SingleCause(
            change=PROMPT, consequence=story, is_suspicion=is_suspicion, open_changes=Changes(titles=(MODEL,), more=1)
        )
        yield headlines.text(headlines.headline(verdict, NAME))


def headline_lines() -> Iterator[str]:
    yield from map(headlines.change_name, facets())
    yield from edits()
    yield headlines.sample_name(3)
    yield from (headlines.text(headlines.headline(verdict, NAME)) for verdict in verdicts())
    yield from effects()
    for kind, has_other_models in product(ProofKind, (False, True)):
        yield headlines.text(headlines.proof_headline(kind, [PROMPT, MODEL], has_other_models=has_other_models))
    yield headlines.text(headlines.confirm(headlines.headline(list(verdicts())[-1], NAME)))
