"""Calls of providers by a running agent, and responses in the form that its client reads."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import orjson

from replay.reruns.core.built_responses import StepAnswer, build_body
from replay.reruns.core.playback import EVENT_STREAM, LINE_STREAM
from replay.reruns.recordings import RecordedResponse
from traces.core.json_access import as_object, as_objects, as_text
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.importers.formats.tracing.client_calls import TOOL_APIS, model_request

# Ollama's, whose streams are lines of JSON.
_STREAMED_BY_DEFAULT: Final = frozenset({"ollama.chat", "ollama.generate"})


class UnreadableRequest(Exception):
    """A request whose body is no JSON object, so that it can neither be compared nor changed."""


@dataclass(frozen=True, kw_only=True)
class AgentRequest:
    """A call of a provider by the agent: its body as it was sent, and as the input of a step.

    The body is read when it is needed: not for a request that is known by `digest`, that of its bytes. Reading raises
    `UnreadableRequest` where it is no JSON object: nothing but its bytes shows which call it is. `digest_content`
    returns the digest of what in a body the answer may depend on; empty if there is none.
    `lane` is the thread or task that makes the call; empty if that is not known.
    `address_model` and `address_asks_for_events` are what the call's address states, for providers that have it there.
    """

    provider: str
    api: str
    headers: JSONObject
    read_body: Callable[[], JSONObject]
    digest: str = ""
    digest_content: Callable[[JSONObject], str] = lambda body: ""
    lane: str = ""
    address_model: str = ""
    address_asks_for_events: bool = False

    @cached_property
    def body(self) -> JSONObject:
        return self.read_body()

    @property
    def content_digest(self) -> str:
        return self.digest_content(self.body)

    @cached_property
    def input(self) -> JSONObject:
        return as_object(model_request({"request": self.body, "api": self.api}))

    @property
    def model(self) -> str:
        return self.address_model or as_text(self.body.get("model"))

    @property
    def is_streamed(self) -> bool:
        stream = self.body.get("stream", self.api in _STREAMED_BY_DEFAULT)
        return stream is True or self.address_asks_for_events

    @property
    def states_usage(self) -> bool:
        """Whether the end of a stream is to state the tokens."""
        return as_object(self.body.get("stream_options")).get("include_usage") is True

    @property
    def tool_api(self) -> str:
        """The API of a call that no model answers, such as embeddings; empty for a model call."""
        return self.api if self.api in TOOL_APIS else ""

    @property
    def step_type(self) -> StepType:
        return StepType.TOOL if self.tool_api else StepType.MODEL

    def with_edits(self, body: JSONObject | None, provider: str = "") -> Self:
        """Return the request with another body, and to another provider; None and an empty name leave them."""
        if body is None and not provider:
            return self
        new_body = self.body if body is None else body
        model = as_text(new_body.get("model")) or self.model
        provider = provider or self.provider
        return replace(self, provider=provider, read_body=lambda: new_body, digest="", address_model=model)

    def reads(self, response: RecordedResponse) -> bool:
        """Return whether a response as it came is what the agent's client reads."""
        if response.request and response.request == self.digest:
            return True
        is_error = response.status >= 400
        return response.api in {"", self.api} and (is_error or response.is_stream == self.is_streamed)

    def build_response(self, answer: StepAnswer) -> RecordedResponse | None:
        """Build a response with an answer in the form that the client reads; None if it has no such form."""
        body = (
            orjson.dumps(answer.output)
            if self.tool_api
            else build_body(
                self.api,
                replace(answer, tools=as_objects(self.input.get("tools"))),
                is_streamed=self.is_streamed,
                states_usage=self.states_usage,
            )
        )
        if not body:
            return None
        stream_type = LINE_STREAM if self.api in _STREAMED_BY_DEFAULT else EVENT_STREAM
        media_type = stream_type if self.is_streamed else "application/json"
        return RecordedResponse(status=200, headers=[("content-type", media_type)], body=body)

    def form_refusal(self, subject: str) -> str:
        """Return why the answer of `subject` cannot be given in the form that the client reads."""
        form = "a stream" if self.is_streamed else "one document"
        return f"the answer of {subject} is not recorded such that it could be given as {form}"
