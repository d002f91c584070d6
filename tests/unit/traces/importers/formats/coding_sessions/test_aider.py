"""Aider's history of chats."""

from decimal import Decimal

import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

# Aider ends its lines with two blanks, here a tilde.
HEADER = """
# aider chat started at 2026-03-01 10:00:00

> Aider v0.86.2~
> Main model: openrouter/anthropic/claude-x with diff edit format, 32k think tokens~
> Git repo: .git with 9 files~

"""
ANSWERED = """#### /add shop.py~
#### till.py~
> Added shop.py to the chat~

#### Is Dune in stock?~
####~
#### Look it up.~

<thinking-content-7b>
It is on shelf 7.
</thinking-content-7b>

Yes:

#### Copies

> three
```
{"Dune": 3}
```

> Tokens: 2.1k sent, 1.5k cache hit, 1,234 received. Cost: $0.0021 message, $0.0042 session.~
> Applied edit to shop.py~

#### /run pytest~
> 3 failed~
"""
REFUSED = """#### Hello~
> Initial repo scan can be slow.~
> litellm.NotFoundError: this model is unavailable~
"""


def read(text: str) -> list[RecordedRun]:
    runs, problems = fixtures.detect_and_read("aider", text.replace("~", "  ").encode(), ".aider.chat.history.md")
    assert problems == []
    return runs


def test_session_has_requests_and_answers() -> None:
    (run,) = read(HEADER + ANSWERED)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.model, model.provider, model.tokens_in, model.tokens_cached, model.tokens_out) == (
        *("openrouter/anthropic/claude-x", "anthropic"),
        *(2100, 1500, 1234),
    )
    assert (model.cost_usd, model.attributes["notes"]) == (
        Decimal("0.0021"),
        [
            "Tokens: 2.1k sent, 1.5k cache hit, 1,234 received. Cost: $0.0021 message, $0.0042 session.",
            "Applied edit to shop.py",
        ],
    )
    assert fixtures.request_contents(model) == ["Is Dune in stock?\n\nLook it up."]
    assert fixtures.answer_contents(run) == [
        [
            {"type": "thinking", "thinking": "It is on shelf 7."},
            {"type": "text", "text": 'Yes:\n\n#### Copies\n\n> three\n```\n{"Dune": 3}\n```'},
        ]
    ], "lines of the model may look like those of others"
    assert (run.status, run.metadata["header"][0]) == (RunStatus.COMPLETED, "Aider v0.86.2")  # type: ignore[index]
    assert str(run.started_at) == "2026-03-01 10:00:00+00:00"


def test_commands_are_calls_of_the_user() -> None:
    (run,) = read(HEADER + ANSWERED)
    commands = fixtures.steps(run, StepType.TOOL)
    assert [(step.tool_name, step.input, step.output) for step in commands] == [
        ("/add", {"text": "shop.py\ntill.py"}, "Added shop.py to the chat"),
        ("/run", {"text": "pytest"}, "3 failed"),
    ]
    assert all(step.attributes["requestor"] == "user" for step in commands)


def test_sessions_end_in_their_own_ways() -> None:
    interrupted = "#### Hello  \n>  \n> ^C KeyboardInterrupt  \n"
    again = "#### Hello again  \n\nHello.\n"
    parts = [REFUSED, interrupted, REFUSED + again, "#### /exit  \n", "#### /ask Why?  \n\nBecause.\n"]
    runs = read("".join(HEADER.replace("10:00:00", f"10:00:0{n}") + part for n, part in enumerate(parts)))
    assert [run.status for run in runs] == [
        *(RunStatus.FAILED, RunStatus.PARTIAL),
        *(RunStatus.COMPLETED, RunStatus.COMPLETED),
    ]
    (failed,) = fixtures.steps(runs[0], StepType.MODEL)
    assert (failed.status, failed.error) == (StepStatus.ERROR, "litellm.NotFoundError: this model is unavailable")
    assert [run.name for run in runs] == ["Hello", "Hello", "Hello", "/ask Why?"]
    assert len({run.external_id for run in runs}) == 4


def test_history_may_lack_ends_of_lines() -> None:
    (run,) = read((HEADER + "#### Hello\n\nHello.\n").replace("~\n", "\n"))
    assert fixtures.answer_contents(run) == ["Hello."]


def test_history_without_requests_is_refused() -> None:
    source = Source(name="history.md", data=(HEADER + "#### /exit\n").encode())
    assert list(registry.get_importer("aider").runs([source])) == []
    assert str(source.problems[0]) == "these sessions of Aider have no request to a model (line 1)"


def test_log_of_requests_has_each_call() -> None:
    log = (
        "TO LLM 2026-03-01T10:00:00\n-------\nSYSTEM Act as\nSYSTEM \nSYSTEM an expert.\n"
        "-------\nUSER Is Dune in stock?\n"
        "LLM RESPONSE 2026-03-01T10:00:05\nASSISTANT Yes.\nASSISTANT Three.\n"
        "TO LLM 2026-03-01T10:01:00\n-------\nUSER How much?\n"
    )
    ((run,), problems) = fixtures.detect_and_read("aider-requests", log.encode(), ".aider.llm.history")
    answered, failed = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(answered) == ["Act as\n\nan expert.", "Is Dune in stock?"]
    assert answered.output == {"message": {"role": "assistant", "content": "Yes.\nThree."}}
    assert (failed.output, failed.status, problems) == (None, StepStatus.PARTIAL, [])


def test_log_that_was_cut_in_its_first_line_is_refused() -> None:
    with pytest.raises(BadFile, match="without requests"):
        list(registry.get_importer("aider-requests").runs([Source(name="log", data=b"TO LLM")]))
