"""Signatures: the digest of everything that determines a call's answer.

`sig:v1` is the SHA-256 of the canonical JSON of the call's kind and name, and of the digest of its request. For a model
these are its provider and model, and of the request the messages, tool schemas, sampling parameters and response
format; for a tool its name and arguments; for a retrieval its retriever, query, top_k, filters and embedding profile;
for a prompt its template id, version, text and variables. What else an input contains counts as `others`, such as the
documents that a reranker gets. Fields in an ignore list, which vary without changing the request, are left out. The
digest is that of the stored input, unless that has other fields.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from traces.core.canonical import canonical_bytes, digest, digest_bytes, plain_form
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter

VERSION: Final = "sig:v1"
# Fields that identify the request rather than its content.
DEFAULT_IGNORED: Final = frozenset({"metadata", "user", "request_id", "session_id", "timestamp", "stream"})
_MODEL_FIELDS: Final = ("messages", "tools", "parameters", "response_format")
_RETRIEVAL_FIELDS: Final = ("query", "top_k", "filters", "embedding_profile")
_PROMPT_FIELDS: Final = ("template_id", "version", "template", "variables")
# Sorted after `messages`, so that a signer can hash these first.
_MORE_FIELDS: Final = "others"
# Of a call, what is no part of its request.
_HEADS: Final = {
    StepType.MODEL: ("kind", "provider", "model"),
    StepType.TOOL: ("kind", "name"),
    StepType.RETRIEVAL: ("kind", "retriever"),
    StepType.PROMPT: ("kind",),
}


def signature(
    *,
    type: StepType,
    name: str,
    input: JSONValue,
    provider: str = "",
    model: str = "",
    tool_name: str = "",
    ignored_names: Collection[str] = DEFAULT_IGNORED,
    digest_of: Callable[[JSONValue], str] | None = None,
    input_ref: str = "",
) -> str:
    """Return `sig:v1:<sha256>` of a call, or an empty text for a step type that makes no calls.

    Pass a splitter's `digest` as `digest_of` if many calls share their messages, and the digest of `input` if it is
    known.
    """
    call = call_of(type=type, name=name, input=input, provider=provider, model=model, tool_name=tool_name)
    if call is None:
        return ""
    digest_of = digest_of or Splitter().digest
    names = _HEADS[type]
    request = input if type is StepType.TOOL else _drop_fields(_omit(call, names), ignored_names)
    return _sign({key: call[key] for key in names}, input_ref if input_ref and request == input else digest_of(request))


class SignedFields(NamedTuple):
    """What the signature of a model call covers besides its messages."""

    provider: str
    model: str
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSigner:
    """Signs model calls that share their messages: the messages are hashed once."""

    # The hash of everything before the other fields of the request.
    prefix: Any

    @classmethod
    def for_messages(cls, messages: JSONValue) -> "ModelSigner":
        """Start a signer; `messages` are cut by a splitter."""
        # Sorted by name, `messages` is the first field of a request.
        return cls(prefix=hashlib.sha256(b'{"messages":' + canonical_bytes(messages)))

    @staticmethod
    def rest(input: JSONObject, *, provider: str, model: str) -> SignedFields:
        """Return the signed fields of a call except its messages; the input is cut by a splitter."""
        fields = _drop_fields(_request(input, _MODEL_FIELDS), DEFAULT_IGNORED)
        return SignedFields(provider, model, canonical_bytes(_omit(fields, {"messages"})))

    def signature(self, rest: SignedFields) -> str:
        """Return the signature of these messages with the `rest` of a call."""
        sha256 = self.prefix.copy()
        sha256.update(b"}" if rest.data == b"{}" else b"," + rest.data[1:])
        return _sign({"kind": "model", "provider": rest.provider, "model": rest.model}, sha256.hexdigest())


def _sign(head: JSONObject, request: str) -> str:
    call: JSONObject = {**head, "request": request}
    data = plain_form(call, []) if {*map(type, call.values())} == {str} else None
    return f"{VERSION}:{digest(call) if data is None else digest_bytes(data)}"


def call_of(
    *, type: StepType, name: str, input: JSONValue, provider: str = "", model: str = "", tool_name: str = ""
) -> JSONObject | None:
    """Return the fields that the signature covers: the object to compare when two signatures differ."""
    if type is StepType.MODEL:
        return {"kind": "model", "provider": provider, "model": model, **_request(input, _MODEL_FIELDS)}
    if type is StepType.TOOL:
        return {"kind": "tool", "name": tool_name or name, "arguments": input}
    if type is StepType.RETRIEVAL:
        return {"kind": "retrieval", "retriever": name, **_request(input, _RETRIEVAL_FIELDS)}
    if type is StepType.PROMPT:
        return {"kind": "prompt", **_request(input, _PROMPT_FIELDS)}
    return None


def differing_fields(
    original: JSONObject, current: JSONObject, digest_of: Callable[[JSONValue], str] = digest
) -> list[str]:
    """Return the names of the call's fields whose values differ, in order; `digest_of` as for `signature`."""

    def differs(name: str) -> bool:
        before, after = original.get(name), current.get(name)
        # Keyed by name, because a splitter recognizes lists of parts by their names.
        return before is not after and digest_of({name: before}) != digest_of({name: after})

    return [name for name in dict.fromkeys([*original, *current]) if differs(name)]


def _request(input: JSONValue, names: tuple[str, ...]) -> JSONObject:
    """Return the named fields of an input, and everything else in it as `others`."""
    if not isinstance(input, dict):
        return {} if input is None else {_MORE_FIELDS: input}
    fields = {name: input[name] for name in names if input.get(name) is not None}
    unnamed_fields: JSONObject = {
        name: value for name, value in input.items() if name not in names and value is not None
    }
    return {**fields, _MORE_FIELDS: unnamed_fields} if unnamed_fields else fields


def _omit(value: JSONObject, names: Collection[str]) -> JSONObject:
    return {name: item for name, item in value.items() if name not in names}


def _drop_fields(value: JSONObject, ignored_names: Collection[str]) -> JSONObject:
    """Return `value` without the ignored names among its own fields, its parameters and its other fields."""
    fields = {key: item for key, item in value.items() if key not in ignored_names}
    for name in ("parameters", _MORE_FIELDS):
        if group := as_object(fields.get(name)):
            fields[name] = {key: item for key, item in group.items() if key not in ignored_names}
    if fields.get(_MORE_FIELDS) == {}:
        del fields[_MORE_FIELDS]
    return fields
