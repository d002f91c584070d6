"""Programs recorded without a change of their code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from forkpoint.bootstrap import child_environment
from tests.support.servers.provider_server import openai_text, provider_server

ASK = """
import openai
client = openai.OpenAI(api_key="none", base_url=URL)
for _ in range(2):
    stream = client.chat.completions.create(model="m1", messages=[{"role": "user", "content": "Hi"}], stream=True)
    print("".join(choice.delta.content or "" for chunk in stream for choice in chunk.choices))
"""


def run_program(folder: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FORKPOINT_TRACES": str(folder), **variables}
    environment = child_environment(environment)
    arguments = [sys.executable, "-c", code]
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=60, check=False)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]


def test_calls_of_a_program_are_one_run(tmp_path: Path) -> None:
    with provider_server(openai_text("Hel", "lo.")) as provider:
        process = run_program(tmp_path, ASK.replace("URL", repr(provider.base_url)), FORKPOINT_APP="desk")
    assert (process.stdout, process.returncode, process.stderr) == ("Hello.\nHello.\n", 0, "")
    recorded = events(tmp_path)
    assert [event["event_type"] for event in recorded] == [
        "run_started",
        *["model_called", "model_result"] * 2,
        "run_completed",
    ]
    assert recorded[0]["payload"]["app_id"] == "desk"
    assert recorded[1]["payload"]["request"] == {
        "model": "m1",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
    }


def test_exception_that_ends_a_program_fails_its_run(tmp_path: Path) -> None:
    with provider_server(openai_text("Hello.")) as provider:
        code = ASK.replace("URL", repr(provider.base_url)) + "raise ValueError('no stock')"
        process = run_program(tmp_path, code)
    assert process.returncode == 1
    assert "ValueError: no stock" in process.stderr
    last_event = events(tmp_path)[-1]
    assert (last_event["event_type"], last_event["payload"]["error"]) == ("run_failed", "ValueError: no stock")


def test_program_without_calls_records_nothing(tmp_path: Path) -> None:
    assert run_program(tmp_path, "print(1)").stdout == "1\n"
    assert events(tmp_path) == []


def test_other_sitecustomize_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.marker = 'theirs'\n")
    process = run_program(
        tmp_path, "import sys; print(sys.marker, 'forkpoint' in sys.modules)", PYTHONPATH=str(tmp_path)
    )
    assert process.stdout == "theirs True\n"


def test_packages_beside_the_sdk_stay_hidden(tmp_path: Path) -> None:
    code = "import json, sys; print(json.dumps(sys.path))"
    plain = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    places = json.loads(run_program(tmp_path, code, PYTHONPATH="").stdout)
    assert [place for place in places if not place.endswith("forkpoint/bootstrap/path")] == json.loads(plain.stdout)
