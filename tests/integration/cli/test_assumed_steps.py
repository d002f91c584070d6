"""Notes of the command line on steps assumed unaffected and on messages typed after a changed answer."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkpoint.recorder import Recorder
from tests.support.command_line import Shell, WarmShell

pytestmark = pytest.mark.own_store
ANSWERS = {"overrides": [{"match": {"step": 1}, "output": "It arrives today."}]}


def _record(folder: Path) -> None:
    """Record two turns with a user, and one request by code that contains no earlier answer."""
    recorder = Recorder()
    recorder.configure(sink=folder, app="desk")
    question = {"role": "user", "content": "Where is my parcel?"}
    answer = {"role": "assistant", "content": "It is lost."}
    reply = {"role": "user", "content": "Then refund me."}
    with recorder.run("talk"):
        for messages, text in (
            ([question], answer["content"]),
            ([question, answer, reply], "I refunded it."),
            ([{"role": "user", "content": "Write a friendly letter."}], "Dear customer, all is well."),
        ):
            with recorder.model("m1", provider="elsewhere", messages=messages) as model:
                model.record_response({"message": {"role": "assistant", "content": text}})
    assert recorder.flush()


@pytest.fixture(scope="module")
def forkpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmShell]:
    folder = tmp_path_factory.mktemp("recordings")
    _record(folder)
    warm = WarmShell(Shell(tmp_path_factory.mktemp("home")))
    result = warm("import", folder, "--json")
    assert result.code == 0, result.err
    yield warm
    warm.close()


def test_plan_counts_assumed_steps(forkpoint: WarmShell) -> None:
    output = forkpoint("replay", "last", "--overrides", "-", "--preview", input=json.dumps(ANSWERS)).out
    assert "1 step assumed unaffected" in output
    assert "1 step with messages typed after a changed answer" in output


def test_replay_counts_assumed_steps(forkpoint: WarmShell) -> None:
    run = forkpoint("runs", "--json").json["runs"][0]["id"]
    assert "1 step assumed unaffected" in forkpoint("replay", run, "--overrides", "-", input=json.dumps(ANSWERS)).out
    assert forkpoint("replay", run, "--overrides", "-", "--strict", input=json.dumps(ANSWERS)).code == 5
