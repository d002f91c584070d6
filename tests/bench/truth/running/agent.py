"""A random program as an agent: `python -m tests.bench.truth.running.agent SEED plain|stream KIND`.

It calls its model by OpenAI's client. Its tools and searches are functions that the SDK knows, and its other steps are
recorded by context managers.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import openai

import forkpoint
from tests.bench.truth import runtime
from tests.bench.truth.programs import random_program
from tests.bench.truth.running import wire
from tests.bench.truth.runtime import AgentError, Runtime
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus, StepType

recorder = forkpoint.recorder


@recorder.retrieval("rules")
def rules(query: str, top_k: int) -> list[JSONValue]:
    return runtime.find_rules(query, top_k)


class ClientRuntime(Runtime):
    """Makes the calls of a program for real; records nothing itself."""

    def __init__(self, *, streams: bool) -> None:
        super().__init__()
        self._client = openai.OpenAI(max_retries=0)
        self._streams = streams
        self._tools: dict[str, Callable[..., Any]] = {}

    def model(
        self,
        place: str,
        messages: Sequence[JSONValue],
        *,
        tools: Sequence[str] = (),
        model: str = "m1",
        temperature: float = 0.0,
    ) -> JSONObject:
        request: JSONObject = {"messages": [*messages], "parameters": {"temperature": temperature}}
        if tools:
            request["tools"] = [runtime.tool_schema(name) for name in tools]
        body: Any = wire.request_body(model, request)
        if self._streams:
            with self._client.chat.completions.stream(**body) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = self._client.chat.completions.create(**body).choices[0].message
        return wire.plain_message(json.loads(message.model_dump_json()))

    def tool(self, place: str, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        if name not in self._tools:
            self._tools[name] = self._new_tool(name)
        try:
            result: JSONValue = self._tools[name](**arguments)
        except Exception as error:
            # An operator's error has a class of its own.
            raise AgentError(str(error)) from error
        return result

    def _new_tool(self, name: str) -> Callable[..., JSONValue]:
        @forkpoint.tool(name)
        def run_tool(**arguments: JSONValue) -> JSONValue:
            output, status = self.call_tool(name, arguments)
            if status is not StepStatus.OK:
                raise AgentError(json.dumps(output))
            return output

        return run_tool

    def retrieve(self, place: str, query: str, top_k: int = 2) -> list[str]:
        documents: Any = rules(query, top_k)
        return [str(document["content"]) for document in documents]

    def prompt(self, place: str, template: str, variables: JSONObject) -> str:
        with recorder.prompt("template", template=template, variables=variables) as step:
            step.output = runtime.rendered(template, variables)
        return str(step.output)

    def code(
        self, place: str, type: StepType, value: JSONValue, compute: Callable[[JSONValue], JSONValue]
    ) -> JSONValue:
        with recorder.step(str(type), "code", input=value) as step:
            result = compute(value)
            step.output = result
        return result

    @contextmanager
    def container(self, place: str, type: StepType, input: JSONValue, call_id: str = "") -> Iterator[JSONObject]:
        output: JSONObject = {}
        with recorder.step(str(type), "desk", input=input) as step:
            yield output
            step.output = output

    @contextmanager
    def tool_container(self, place: str, name: str, arguments: JSONObject) -> Iterator[JSONObject]:
        output: JSONObject = {}
        with recorder.tool(name, arguments) as step:
            yield output
            step.output = output["result"]


def main(seed: str, mode: str, kind: str) -> None:
    random_program(seed, kind).run_in(ClientRuntime(streams=mode == "stream"))


if __name__ == "__main__":
    main(*sys.argv[1:])
