"""Recordings without steps, which every importer refuses."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.importers import registry
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source

EMPTY: dict[str, tuple[str, Any]] = {
    "no message": ("chat", {"id": "c-1", "messages": []}),
    "only instructions": ("chat", {"id": "c-1", "messages": [{"role": "system", "content": "You keep a bookshop."}]}),
    "only a greeting": ("chat", {"id": "c-1", "messages": [{"role": "assistant", "content": "Good morning!"}]}),
    "no trajectory step": (
        "atif",
        {"schema_version": "ATIF-v1.4", "session_id": "c-1", "steps": [], "agent": {"name": "shopkeeper"}},
    ),
}


@pytest.mark.parametrize(("format", "content"), EMPTY.values(), ids=EMPTY)
def test_recording_without_steps_is_refused(format: str, content: Any) -> None:
    source = Source(name="empty.json", data=orjson.dumps(content))
    importer = registry.detect(fixtures.sample(source.name, source.data))
    assert importer.name == format
    assert list(importer.runs([source])) == []
    assert [str(problem) for problem in source.problems] == [
        f"this recording has no steps ({importer.title}) (run c-1)"
    ]


def test_other_recordings_are_still_imported() -> None:
    talk = {"id": "c-2", "messages": [{"role": "user", "content": "Is Dune in stock?"}]}
    source = Source(name="two.json", data=orjson.dumps([EMPTY["no message"][1], talk]))
    assert [run.external_id for run in registry.get_importer("chat").runs([source])] == ["c-2"]
    assert len(source.problems) == 1


@pytest.mark.parametrize("name", ["messages", "trajectory"])
def test_list_without_roles_is_no_chat(name: str) -> None:
    actions = [{"action": "open shelf_7", "observation": "3 copies", "content": "3 copies"}]
    with pytest.raises(BadFile, match="no known format has an object with the keys"):
        registry.detect(fixtures.sample("other.json", orjson.dumps({name: actions})))
