"""Wild programs of the attribution benchmark: the truth of each case, by running the programs without the method."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Final

import pytest

from tests.bench.attribution import track_p
from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import AnswerRuntime, Model, Runtime, request_of
from tests.bench.attribution.mechanisms.settings import prompts, user
from tests.bench.attribution.program_lab import ProgramBench, ProgramLab
from tests.bench.attribution.programs.chance import with_chance
from tests.bench.attribution.programs.model import Request, model_of
from tests.bench.attribution.programs.rewording import plain_wording
from tests.bench.attribution.programs.shapes import Hunks, Program, draw_case, edit, say, user_message
from tests.bench.attribution.programs.wild import WILD
from tests.bench.attribution.results import SIZES
from tests.bench.attribution.truth import Injection, Truth
from traces.core.json_types import JSONValue

CASES: Final = SIZES["full"].p
SAMPLES: Final = 60
each_program: Final = pytest.mark.parametrize("program", WILD, ids=lambda program: program.name)


@cache
def _cases(index: int) -> list[BenchCase]:
    return [draw_case(WILD[index], number, track_p.SEED) for number in range(CASES)]


def cases(program: Program) -> list[BenchCase]:
    return _cases(WILD.index(program))


def answer(program: Program, hunks: Hunks = (), model: Model | None = None) -> str:
    return program.program(AnswerRuntime({**program.settings, **dict(hunks)}, ask=model or program.model))


def with_changes(case: BenchCase, names: Iterable[str]) -> Hunks:
    return tuple(hunk for name in sorted(names) for hunk in case.by_id[name].hunks)


def test_wild_set_has_its_size_and_its_controls() -> None:
    assert len(track_p.plan(CASES, held_out=False, only="wild")) == 384
    assert "wild" not in {name for name, _, _ in track_p.plan(2, held_out=False)}
    controls = [program for program in WILD for case in cases(program) if not case.truth.sets]
    assert len(controls) == 144
    assert sum(program.is_sampled for program in controls) == 96


def test_wild_names_and_groups_are_new() -> None:
    others = [program for name, programs in track_p.SETS.items() if name != "wild" for program in programs]
    assert len({program.name for program in WILD}) == len({program.group for program in WILD}) == len(WILD)
    assert not {program.group for program in WILD} & {program.group for program in others}
    assert not {program.name for program in WILD} & {program.name for program in others}


@each_program
def test_no_two_wild_edits_share_a_setting(program: Program) -> None:
    paths = Counter(path for edit in program.edits for path in {path for hunks in edit.variants for path, _ in hunks})
    assert set(paths.values()) == {1}


@each_program
def test_wild_edits_act_unless_they_are_decoys(program: Program) -> None:
    for option in program.edits:
        answers = {answer(program, hunks) for hunks in option.variants} - {answer(program)}
        assert bool(answers) != option.decoy, option


@each_program
def test_wild_causes_suffice_and_are_minimal(program: Program) -> None:
    """Each set of causes gives the candidate's answer, none of its subsets does, and neither do the other changes."""
    for case in cases(program):
        base, full = answer(program), answer(program, with_changes(case, case.by_id))
        assert bool(case.truth.sets) == (base != full)
        for members in case.truth.sets:
            assert answer(program, with_changes(case, members)) == full
            subsets = [names for size in range(len(members)) for names in combinations(sorted(members), size)]
            assert all(answer(program, with_changes(case, names)) != full for names in subsets)
        innocent = case.by_id.keys() - frozenset[str]().union(*case.truth.sets)
        assert not case.truth.sets or answer(program, with_changes(case, innocent)) != full


def test_wild_causes_are_of_all_kinds() -> None:
    drawn = [case for program in WILD for case in cases(program)]
    members = [case.by_id[name] for case in drawn for names in case.truth.sets for name in names]
    kinds = Counter(change.path.split(".")[0] for change in members)
    assert kinds.keys() == {"prompt", "model", "row", "doc", "tool", "user", "turn", "code"}
    assert Counter(case.truth.structure for case in drawn) == {
        "single": 173,
        "joint": 57,
        "over_determined": 10,
        "none": 144,
    }


@each_program
def test_wild_models_answer_unexpected_messages(program: Program) -> None:
    nodes = {path.split(".")[1] for path in program.settings if path.startswith("prompt.")}
    for node in nodes:
        opening: JSONValue = {"role": "system", "content": access.system(program.settings, node)}
        for messages in ([], [user_message("")], [{"role": "tool", "content": "null", "tool_call_id": "call_1"}]):
            request = request_of(program.settings, node, [opening, *messages], None)
            assert program.model(request, "m1")["role"] == "assistant"


@each_program
def test_wild_recordings_show_their_case(program: Program) -> None:
    """Recordings show the truth up to their wording; those of a case without a cause by chance differ."""
    for case in cases(program):
        bench = ProgramBench(case)
        answers, truth = (bench.base.answer, bench.candidate.answer), (case.truth.base, case.truth.full)
        if program.chance and not case.truth.sets:
            assert answers[0] != answers[1]
            assert case.truth.base in answers
        else:
            assert [plain_wording(text) for text in answers] == [plain_wording(text) for text in truth]


def test_most_controls_with_noise_differ() -> None:
    sampled = [case for program in WILD if program.is_sampled for case in cases(program) if not case.truth.sets]
    benches = [ProgramBench(case) for case in sampled]
    assert sum(bench.base.answer != bench.candidate.answer for bench in benches) == 95


@pytest.mark.parametrize("program", [program for program in WILD if program.chance], ids=lambda program: program.name)
def test_truth_of_wild_programs_is_about_the_usual_answers(program: Program) -> None:
    assert program.chance
    for case in cases(program):
        for names, usual in (((), case.truth.base), (tuple(case.by_id), case.truth.full)):
            models = [with_chance(program.model, program.chance, f"sample {place}") for place in range(SAMPLES)]
            answers = Counter(answer(program, with_changes(case, names), model) for model in models)
            assert answers[usual] > SAMPLES / 2


# ---- changes of code, by a small program


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


@pytest.mark.parametrize(("path", "value"), [("search.hits", 1), ("talker.start", True), ("last.step", True)])
@pytest.mark.parametrize("is_reverse", [False, True])
def test_changes_of_code_are_known_by_their_node(path: str, value: JSONValue, *, is_reverse: bool) -> None:
    path, before = f"code.{path}", _STEPS.settings[f"code.{path}"]
    program = replace(_STEPS, settings={**_STEPS.settings, path: value}) if is_reverse else _STEPS
    change = Injection(id="a0", category="upstream", hunks=((path, before if is_reverse else value),), main=0)
    truth = Truth(pipeline=program, acting={"a0": change})
    case = BenchCase(number=0, split="balanced", pipeline=program, injections=(change,), truth=truth)
    lab = ProgramLab(ProgramBench(case))
    assert len(lab.changes.changes) == 1
    assert set(lab.edits_of.values()) == {path}
