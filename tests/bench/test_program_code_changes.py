"""Changes of an agent's code are known by their node, in a small program."""

from dataclasses import replace
from typing import Final

import pytest

from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.code_edits import CodeEdits
from tests.bench.attribution.mechanisms.running import Runtime
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.program_lab import ProgramBench, ProgramLab
from tests.bench.attribution.programs.depots import DEPOTS
from tests.bench.attribution.programs.gardens import GARDENS
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.shapes import Program, draw_case, edit, say
from tests.bench.attribution.track_p import SEED
from tests.bench.attribution.truth import Injection, Truth
from traces.core.json_types import JSONValue


def _say(request: Request) -> str:
    return f"Said {request.last}"


def _steps(runtime: Runtime) -> str:
    settings = runtime.settings
    hits = settings["code.search.hits"]
    assert isinstance(hits, int)
    passages = runtime.retrieve("search", user(settings), hits)
    text = say(runtime, "reader", "\n".join(passages))
    if settings["code.talker.start"]:
        text = text[:20]
    text = say(runtime, "talker", text)
    return say(runtime, "last", text) if settings["code.last.step"] else text


_STEPS: Final = Program(
    name="steps",
    group="steps",
    program=_steps,
    final="talker",
    model=model_of({"reader": _say, "talker": _say, "last": _say}),
    menu=(),
    settings={
        **prompts(reader=("You are the reader.",), talker=("You are the talker.",), last=("You are the last.",)),
        "user.0": "a red house",
        "doc.a.date": "2026-01-01",
        "doc.a.text": "The house is red and old.",
        "doc.b.date": "2026-01-01",
        "doc.b.text": "A red boat.",
        "code.search.hits": 2,
        "code.talker.start": False,
        "code.last.step": False,
    },
    edits=(edit("upstream", "code.search.hits", 1),),
)


def _case(program: Program, *hunks: tuple[str, JSONValue]) -> BenchCase:
    changes = tuple(
        Injection(id=f"a{number}", category="upstream", hunks=(hunk,), main=0) for number, hunk in enumerate(hunks)
    )
    truth = Truth(pipeline=program, acting={change.id: change for change in changes})
    return BenchCase(number=0, split="balanced", pipeline=program, injections=changes, truth=truth)


@pytest.mark.parametrize(("path", "value"), [("search.hits", 1), ("talker.start", True), ("last.step", True)])
@pytest.mark.parametrize("is_reverse", [False, True])
def test_changes_of_code_are_known_by_their_node(path: str, value: JSONValue, *, is_reverse: bool) -> None:
    path, before = f"code.{path}", _STEPS.settings[f"code.{path}"]
    program = replace(_STEPS, settings={**_STEPS.settings, path: value}) if is_reverse else _STEPS
    lab = ProgramLab(ProgramBench(_case(program, (path, before if is_reverse else value))))
    assert len(lab.changes.changes) == 1
    assert set(lab.edits_of.values()) == {path}


def _rounds(runtime: Runtime) -> str:
    settings = runtime.settings
    rounds = settings["code.asker.rounds"]
    assert isinstance(rounds, int)
    for number in range(rounds):
        say(runtime, "asker", f"{user(settings)} {number}")
        runtime.tool("look", {"round": str(number)})
    return say(runtime, "writer", str(rounds))


def test_loop_that_ends_earlier_leaves_out_all_its_steps() -> None:
    program = replace(
        _STEPS,
        program=_rounds,
        final="writer",
        model=model_of({"asker": _say, "writer": _say}),
        settings={
            **prompts(asker=("You are the asker.",), writer=("You are the writer.",)),
            "user.0": "Find it.",
            "code.asker.rounds": 2,
        },
    )
    nodes = CodeEdits(case=_case(program, ("code.asker.rounds", 1)), program=program).nodes("code.asker.rounds")
    assert (set(nodes.inputs), set(nodes.steps)) == ({"asker", "writer"}, {"asker", "look", "writer"})


def _two_figures(runtime: Runtime) -> str:
    width = runtime.settings["code.weigher.width"]
    say(runtime, "weigher", f"{width} wide")
    return say(runtime, "teller", f"It costs {width} coins.")


def test_edit_of_code_shows_wherever_no_output_differs_before() -> None:
    program = replace(
        _STEPS,
        program=_two_figures,
        final="teller",
        model=model_of({"weigher": lambda request: "medium", "teller": _say}),
        settings={
            **prompts(weigher=("You are the weigher.",), teller=("You are the teller.",)),
            "code.weigher.width": 7,
        },
    )
    lab = ProgramLab(ProgramBench(_case(program, ("code.weigher.width", 9))))
    assert len(lab.changes.changes) == 2
    assert lab.edits_of == dict.fromkeys(lab.changes.changes, "code.weigher.width")


def _recall(runtime: Runtime) -> str:
    settings = runtime.settings
    window = settings["code.talker.window"]
    assert isinstance(window, int)
    turns = [str(settings["turn.0"]), str(settings["turn.1"])]
    say(runtime, "greeter", turns[0])
    return say(runtime, "talker", *turns[-window:])


def test_edited_words_that_code_leaves_out_are_a_change_of_code() -> None:
    program = replace(
        _STEPS,
        program=_recall,
        final="talker",
        model=model_of({"greeter": lambda request: "Welcome.", "talker": _say}),
        settings={
            **prompts(greeter=("You are the greeter.",), talker=("You are the talker.",)),
            "turn.0": "I like trains.",
            "turn.1": "Give me a quiz.",
            "code.talker.window": 2,
        },
    )
    lab = ProgramLab(ProgramBench(_case(program, ("turn.0", "I like horses."), ("code.talker.window", 1))))
    origins = {lab.changes.changes[id].atom.texts[0]: path for id, path in lab.edits_of.items()}
    assert origins == {
        ("I like trains.", "I like horses."): "turn.0",
        ("I like trains.", ""): "code.talker.window",
    }


@pytest.mark.parametrize(
    ("program", "number", "title", "path"),
    [
        # The first request lacks an edited message as well; the next lacks what code leaves out, and nothing else.
        (GARDENS[2], 10, "Dropping 4 earlier messages", "code.warden.window"),
        # Code gives the article to another reporter, before any output differs.
        (DEPOTS[6], 5, "Changing “second … soft” to “first … plain” in the system prompt", "code.second.shares"),
    ],
)
def test_first_trace_of_an_edit_of_code_is_known(program: Program, number: int, title: str, path: str) -> None:
    lab = ProgramLab(ProgramBench(draw_case(program, number, SEED)))
    assert [lab.edits_of.get(id) for id, change in lab.changes.changes.items() if title in change.atom.title] == [path]
