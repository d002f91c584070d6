"""Ignore rules of an app: fields that its signatures leave out in addition to the defaults. Pure.

A rule names a field of a step's input by JSON pointer, in which `*` stands for any key or index. It removes the
field or, with `within`, only the times or ids in its text. A signature under such rules is written
`sig:v1~<rules>:<sha256>`, so that it cannot be confused with one that leaves out nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import Field

from traces.core.canonical import digest, escape_pointer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import pointer_tokens
from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.signatures.call_signatures import DEFAULT_IGNORED, VERSION, signature
from traces.signatures.volatile_values import Kind, mask

SIGNED_TYPES: Final = (StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT)
_MARK: Final = "~"
Path = tuple[str, ...]
# List entries with their reduced forms: calls of one conversation share their messages. The entry itself is stored too,
# because its id must not be reused.
ReductionCache = dict[tuple[int, Path, Kind | None], tuple[JSONValue, JSONValue]]


class IgnoreRule(Schema):
    """One field to leave out: of steps of a type, and of a tool, retriever or prompt by its name (a glob)."""

    type: Literal["model", "tool", "retrieval", "prompt"]
    name: Annotated[str, Field(max_length=300)] = "*"
    pointer: Annotated[str, Field(max_length=1_000)]
    # Only values of this kind in the text; null: the whole field.
    within: Kind | None = None

    @property
    def path(self) -> Path:
        return tuple(pointer_tokens(self.pointer))

    @property
    def text(self) -> str:
        """The rule as one line of a label's key."""
        subject = self.type if self.name == "*" else f"{self.type} {self.name}"
        return f"{subject}: {self.pointer}" + (f" ({self.within})" if self.within else "")


@dataclass(frozen=True, kw_only=True)
class IgnoreRules:
    """One version of an app's ignore list, possibly empty."""

    rules: tuple[IgnoreRule, ...] = ()
    version: int = 0

    @property
    def digest(self) -> str:
        return digest([rule.model_dump(mode="json") for rule in self.rules]) if self.rules else ""

    @property
    def key(self) -> JSONObject:
        """The part of a label's key that names the version of the list and everything it leaves out."""
        if not self.rules:
            return {}
        texts = [*sorted(DEFAULT_IGNORED), *(rule.text for rule in self.rules)]
        return {"ignored": list(texts), "ignore_list": self.version}

    def rules_for(self, type: StepType, callee: str) -> tuple[IgnoreRule, ...]:
        """Return the rules for steps of a type and name."""
        return _rules_for(self.rules, str(type), callee)

    def reduce(self, type: StepType, callee: str, input: JSONValue, cache: ReductionCache | None = None) -> JSONValue:
        """Return a copy of a step's input without its ignored fields.

        Entries in the `cache` are not reduced again: entries that many calls share stay one object.
        """
        for rule in self.rules_for(type, callee):
            input = remove_field(input, rule.path, rule.within, cache)
        return input

    def signature(
        self,
        *,
        type: StepType,
        name: str,
        input: JSONValue,
        provider: str = "",
        model: str = "",
        tool_name: str = "",
        digest_of: Callable[[JSONValue], str] | None = None,
        cache: ReductionCache | None = None,
    ) -> str:
        """Return the signature of a call under these rules; empty if no rule applies to the call."""
        if not self.rules_for(type, tool_name or name):
            return ""
        reduced_signature = signature(
            type=type,
            name=name,
            input=self.reduce(type, tool_name or name, input, cache),
            provider=provider,
            model=model,
            tool_name=tool_name,
            digest_of=digest_of,
        )
        return f"{VERSION}{_MARK}{self.digest[:12]}:{reduced_signature.rpartition(':')[2]}"


NO_RULES: Final = IgnoreRules()


def is_reduced(call_signature: str) -> bool:
    """True for a signature that was made under ignore rules."""
    return _MARK in call_signature


def remove_field(value: JSONValue, path: Path, kind: Kind | None, cache: ReductionCache | None = None) -> JSONValue:
    """Return a copy of `value` without the fields at `path`, or with their values of a `kind` masked."""
    if not path:
        return _mask(value, kind)
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        return _remove_keys(value, [key for key in value if head in {"*", key}], rest, kind, cache)
    if isinstance(value, list):
        indices = {index for index in range(len(value)) if head in {"*", str(index)}}
        return [_entry(item, rest, kind, cache) if index in indices else item for index, item in enumerate(value)]
    return value


def pointer(path: Iterable[str]) -> str:
    return "".join(f"/{part if part == '*' else escape_pointer(part)}" for part in path)


def _entry(item: JSONValue, path: Path, kind: Kind | None, cache: ReductionCache | None) -> JSONValue:
    if cache is None or not isinstance(item, dict | list):
        return remove_field(item, path, kind)
    key = (id(item), path, kind)
    if key not in cache:
        cache[key] = item, remove_field(item, path, kind, cache)
    return cache[key][1]


def _remove_keys(
    value: JSONObject, keys: list[str], rest: Path, kind: Kind | None, cache: ReductionCache | None
) -> JSONObject:
    if not rest and kind is None:
        return {key: item for key, item in value.items() if key not in keys}
    return {key: remove_field(item, rest, kind, cache) if key in keys else item for key, item in value.items()}


def _mask(value: JSONValue, kind: Kind | None) -> JSONValue:
    """Mask values of a kind in a text. An entry that cannot be removed from its list becomes None."""
    if kind is None:
        return None
    return mask(value, kind) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _rules_for(rules: tuple[IgnoreRule, ...], type: str, callee: str) -> tuple[IgnoreRule, ...]:
    return tuple(rule for rule in rules if rule.type == type and fnmatchcase(callee, rule.name))
