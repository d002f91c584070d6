"""A step's call as a curl command and as Python: golden files, and programs that run against a server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.test import Client
from pytest_django import Settings

from tests.support.lost_artifacts import lose
from tests.support.patience import patience_s
from tests.support.recordings import SYSTEM, TOOLS, assistant, assistant_call, tool_message, tool_step, user
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.models import Step
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
GOLDEN: Final = Path(__file__).parents[2] / "fixtures" / "snippets"
HOSTILE: Final = 'it\'s "quoted" \\ \\n $(touch x) `id` ${HOME} !!\r\nJSON\n\x0b\u2028 \U0001f600 """ \'\'\''
KEYS: Final = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2", "GEMINI_API_KEY": "sk-3"}
PROVIDERS: Final[dict[str, tuple[str, str, JSONObject]]] = {
    "openai-chat": ("openai", "gpt-4o", {}),
    "openai-responses": (
        "openai",
        "gpt-5",
        {"response": {"id": "resp_1"}, "request": {"previous_response_id": "resp_0", "stream": True}},
    ),
    "anthropic": ("anthropic", "claude-sonnet-4-5", {}),
    "gemini": ("google", "gemini-2.5-flash", {}),
}
PARAMETERS: Final[JSONObject] = {"temperature": 0.5, "max_tokens": 200, "odd\n$(touch x)": 1}
CONVERSATION: Final[list[JSONValue]] = [
    SYSTEM,
    user("Where's order A-1?"),
    assistant_call("call-1", "A-1"),
    tool_message("call-1", "shipped"),
]


def store(*steps: RecordedStep) -> list[Step]:
    recording = RecordedRun(external_id="r", name="", app="desk", format="test", steps=steps)
    return list(Step.objects.filter(run=services.record(recording).run_id).order_by("sequence_no"))


def model_step(provider: str, model: str, attributes: JSONObject, messages: list[JSONValue]) -> RecordedStep:
    return RecordedStep(
        key="model",
        type=StepType.MODEL,
        name="chat",
        provider=provider,
        model=model,
        input={"messages": messages, "tools": TOOLS, "parameters": PARAMETERS},
        output={"message": assistant("It was shipped.")},
        attributes=attributes,
    )


def read(client: Client, step: Step) -> dict[str, Any]:
    answer = client.get(f"/api/v1/steps/{step.id}/snippets")
    assert answer.status_code == 200, answer.content
    snippets: dict[str, Any] = answer.json()
    return snippets


@pytest.fixture(autouse=True)
def no_providers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PROVIDERS = {}
    for name in ("OPENAI", "ANTHROPIC", "GOOGLE_GEMINI"):
        monkeypatch.delenv(f"{name}_BASE_URL", raising=False)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with provider_server(lambda exchange: exchange.status(200, {"text": "It was shipped."})) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.base_url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.base_url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.base_url)
        yield running


@pytest.mark.parametrize("name", PROVIDERS)
def test_snippets_of_a_provider(client: Client, name: str) -> None:
    (step,) = store(model_step(*PROVIDERS[name], CONVERSATION))
    snippets = read(client, step)
    assert snippets["curl"] == (GOLDEN / f"{name}.curl.txt").read_text(encoding="utf-8")
    assert snippets["python"] == (GOLDEN / f"{name}.python.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROVIDERS)
def test_snippets_send_the_same_request(client: Client, server: ProviderServer, name: str, tmp_path: Path) -> None:
    (step,) = store(model_step(*PROVIDERS[name], [*CONVERSATION, user(HOSTILE)]))
    snippets = read(client, step)
    for command in (["bash", "-c", snippets["curl"]], [sys.executable, "-c", snippets["python"]]):
        environment = {**os.environ, **KEYS, "NO_PROXY": "127.0.0.1"}
        result = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=patience_s(10), check=True
        )
        assert "It was shipped." in result.stdout
    by_curl, by_python = server.requests
    assert (by_curl.path, by_curl.body) == (by_python.path, by_python.body)
    assert HOSTILE in texts(by_curl.body)
    assert key_of(by_curl) == key_of(by_python) in KEYS.values()
    assert list(tmp_path.iterdir()) == []


def test_tool_step_is_a_call(client: Client) -> None:
    (step,) = store(tool_step("t", "call-1", "A-1", "shipped"))
    assert read(client, step) == {"curl": None, "python": 'get_order(order_id="A-1")\n', "problem": ""}


def test_configured_provider_has_precedence(client: Client, settings: Settings) -> None:
    settings.PROVIDERS = {
        "openai": {"protocol": "openai", "base_url": "http://proxy.test/v1", "api_key_env": "PROXY_KEY"},
    }
    (step,) = store(model_step("openai", "gpt-4o", {}, CONVERSATION))
    curl = read(client, step)["curl"]
    assert "curl http://proxy.test/v1/chat/completions" in curl
    assert '"Authorization: Bearer $PROXY_KEY"' in curl


def test_problems_are_stated(client: Client) -> None:
    bedrock, bare, lost, output = store(
        model_step("bedrock", "nova", {}, CONVERSATION),
        RecordedStep(key="b", type=StepType.MODEL, name="chat", model="gpt-4o"),
        RecordedStep(key="c", type=StepType.TOOL, name="f", tool_name="f", input={"a": "lost"}),
        RecordedStep(key="d", type=StepType.OUTPUT, name="reply", output={"text": "Yes."}),
    )
    lose(lost.input_ref, "deleted")
    assert [read(client, step)["problem"] for step in (bedrock, bare, lost, output)] == [
        "Configure the provider “bedrock” to copy its requests.",
        "The input of this step was not recorded.",
        "The input of this step is unavailable.",
        "Only model and tool steps have a call to copy.",
    ]


def texts(value: Any) -> list[str]:
    """Return all texts inside a value."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def key_of(exchange: Exchange) -> str:
    headers = exchange.headers
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return bearer or headers.get("x-api-key", "") or headers.get("x-goog-api-key", "")
