"""Signatures: the digest of everything that determines a call's answer.

`sig:v1` is the SHA-256 of the canonical JSON of the call: for a model its provider, model, sampling
parameters, tool schemas, response format and messages; for a tool its name, version and arguments; for a
retrieval its retriever, query, top_k, filters and embedding profile; for a prompt its template id, version,
text and variables. Fields that vary without meaning are left out by an ignore list of dotted paths.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

from traces.core.canonical import canonical_bytes, digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter

VERSION: Final = "sig:v1"
# Identify the request, not what was asked.
DEFAULT_IGNORED: Final = frozenset({"metadata", "user", "request_id", "session_id", "timestamp", "stream"})
_MODEL_FIELDS: Final = ("messages", "tools", "parameters", "response_format")
_RETRIEVAL_FIELDS: Final = ("query", "top_k", "filters", "embedding_profile")
_PROMPT_FIELDS: Final = ("template_id", "version", "template", "variables")


def signature(
    *,
    type: StepType,
    name: str,
    input: JSONValue,
    provider: str = "",
    model: str = "",
    tool_name: str = "",
    ignored: Collection[str] = DEFAULT_IGNORED,
    digest_of: Callable[[JSONValue], str] | None = None,
) -> str:
    """`sig:v1:<sha256>` of a call, or an empty text for a step type that makes none.

    `digest_of` is a splitter's `digest` where many calls share their messages.
    """
    call = call_of(type=type, name=name, input=input, provider=provider, model=model, tool_name=tool_name)
    if call is None:
        return ""
    digest_of = digest_of or Splitter().digest
    return f"{VERSION}:{digest_of(_without(call, ignored))}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSigner:
    """Signs model calls that share their messages: hashes the messages once, whatever else is asked with them."""

    begun: Any

    @classmethod
    def of(cls, messages: JSONValue) -> "ModelSigner":
        """`messages` as a splitter cuts them."""
        # Of the fields that are signed, sorted by name, `kind` and `messages` come first.
        return cls(begun=hashlib.sha256(b'{"kind":"model","messages":' + canonical_bytes(messages) + b","))

    @staticmethod
    def rest(input: JSONObject, *, provider: str, model: str) -> bytes:
        """All that is signed but kind and messages, of an input as a splitter cuts it."""
        call = call_of(type=StepType.MODEL, name="", input=input, provider=provider, model=model) or {}
        signed = _without(call, DEFAULT_IGNORED)
        return canonical_bytes({name: signed[name] for name in signed if name not in {"kind", "messages"}})

    def signature(self, rest: bytes) -> str:
        """The signature of these messages with the `rest` of a call."""
        hashed = self.begun.copy()
        hashed.update(rest[1:])
        return f"{VERSION}:{hashed.hexdigest()}"


def call_of(
    *, type: StepType, name: str, input: JSONValue, provider: str = "", model: str = "", tool_name: str = ""
) -> JSONObject | None:
    """What the signature covers, by field: the object to compare when two signatures differ."""
    given = input if isinstance(input, dict) else {}
    if type is StepType.MODEL:
        return {"kind": "model", "provider": provider, "model": model, **_picked(given, _MODEL_FIELDS)}
    if type is StepType.TOOL:
        return {"kind": "tool", "name": tool_name or name, "arguments": input}
    if type is StepType.RETRIEVAL:
        return {"kind": "retrieval", "retriever": name, **_picked(given, _RETRIEVAL_FIELDS)}
    if type is StepType.PROMPT:
        return {"kind": "prompt", **_picked(given, _PROMPT_FIELDS)}
    return None


def differing_fields(
    recorded: JSONObject, current: JSONObject, digest_of: Callable[[JSONValue], str] = digest
) -> list[str]:
    """The names of the call's fields whose values differ, in order; `digest_of` as for `signature`."""

    def differs(name: str) -> bool:
        before, after = recorded.get(name), current.get(name)
        # Under its name, because a splitter knows the lists of parts by theirs.
        return before is not after and digest_of({name: before}) != digest_of({name: after})

    return [name for name in dict.fromkeys([*recorded, *current]) if differs(name)]


def _picked(value: JSONObject, names: tuple[str, ...]) -> JSONObject:
    return {name: value[name] for name in names if value.get(name) is not None}


def _without(value: JSONObject, ignored: Collection[str]) -> JSONObject:
    """`value` without the ignored names among its own fields and those of `parameters`."""
    kept = {key: item for key, item in value.items() if key not in ignored}
    parameters = kept.get("parameters")
    if isinstance(parameters, dict):
        kept["parameters"] = {key: item for key, item in parameters.items() if key not in ignored}
    return kept
