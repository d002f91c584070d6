"""The version of an agent's code tells another logic from other texts."""

import importlib.util
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

from forkpoint import Recorder
from forkpoint.code_version import code_version
from traces.importers.files.source import Source
from traces.importers.formats.tracing import forkpoint_events

AGENT: Final = '''
"""A desk."""
PROMPT = "You are a desk. Be kind."

def is_late(order):
    """Return whether an order is late."""
    return order["days"] > 14  # two weeks
'''
NUMBERS: Final = count()


def module_of(source: str, folder: Path) -> ModuleType:
    path = folder / f"desk_{next(NUMBERS)}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("> 14", "> 30", {"logic", "source"}),
        ("Be kind.", "Be brief.", {"source"}),
        ("Return whether an order", "Tell if an order", {"source"}),
        ("  # two weeks", "", {"source"}),
        ('["days"]', '["weeks"]', {"logic", "source"}),
    ],
)
def test_logic_differs_unless_only_texts_do(before: str, after: str, changed: set[str], tmp_path: Path) -> None:
    versions = [code_version([module_of(source, tmp_path)]) for source in (AGENT, AGENT.replace(before, after))]
    assert {name for name in versions[0] if versions[0][name] != versions[1][name]} == changed


def test_version_of_a_function_ignores_the_rest_of_its_module(tmp_path: Path) -> None:
    modules = [module_of(source, tmp_path) for source in (AGENT, f"{AGENT}\nLIMIT = 3\n")]
    assert code_version([modules[0].is_late]) == code_version([modules[1].is_late])
    assert code_version([modules[0]]) != code_version([modules[1]])


def test_run_has_the_version_of_its_code(tmp_path: Path) -> None:
    agent = module_of(AGENT, tmp_path)
    recorder = Recorder(tmp_path / "run.jsonl")
    with recorder.run("desk", code=[agent], metadata={"team": "desk"}), recorder.tool("get_order", {"id": 7}):
        pass
    assert recorder.flush()
    [run] = forkpoint_events.parse([Source(name="run.jsonl", data=(tmp_path / "run.jsonl").read_bytes())])
    assert run.metadata == {"team": "desk", "code": code_version([agent])}


def test_part_without_source_leaves_the_agent_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(tmp_path / "run.jsonl")
    with recorder.run("desk", code=[code_version, len]), recorder.tool("get_order", {"id": 7}):
        pass
    assert recorder.flush()
    [run] = forkpoint_events.parse([Source(name="run.jsonl", data=(tmp_path / "run.jsonl").read_bytes())])
    assert run.metadata == {}
    assert "The version of len is not recorded" in caplog.text
