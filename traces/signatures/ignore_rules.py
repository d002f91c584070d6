"""What an app's signatures leave out beyond the usual: fields that vary though the work is the same. Pure.

A rule names a field of a step's input by JSON pointer, in which `*` stands for any key or index. It takes the
field out, or, with `within`, only the times or ids in its text. A signature under such a list is written
`sig:v1~<list>:<sha256>`, so that it is never mistaken for one that leaves out nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import Field

from traces.core.canonical import digest, escape_pointer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepType
from traces.signatures.call_signatures import DEFAULT_IGNORED, VERSION, signature
from traces.signatures.volatile_values import Kind, mask

SIGNED_TYPES: Final = (StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT)
_MARK: Final = "~"
Path = tuple[str, ...]
# Entries of lists that were reduced, each with what became of it: calls of one conversation share their messages.
ReductionCache = dict[tuple[int, Path, Kind | None], tuple[JSONValue, JSONValue]]


class IgnoreRule(Schema):
    """One field to leave out: of steps of a type, and of a tool, retriever or prompt by its name (a glob)."""

    type: Literal["model", "tool", "retrieval", "prompt"]
    name: Annotated[str, Field(max_length=300)] = "*"
    pointer: Annotated[str, Field(max_length=1_000)]
    within: Kind | None = None  # only what is of this kind in the text; null: the whole field

    @property
    def path(self) -> Path:
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in self.pointer.split("/")[1:])

    @property
    def said(self) -> str:
        """The rule as one line of a label's key."""
        of = self.type if self.name == "*" else f"{self.type} {self.name}"
        return f"{of}: {self.pointer}" + (f" ({self.within})" if self.within else "")


@dataclass(frozen=True, kw_only=True)
class IgnoreRules:
    """One version of an app's list, or nothing at all."""

    rules: tuple[IgnoreRule, ...] = ()
    version: int = 0

    @property
    def digest(self) -> str:
        return digest([rule.model_dump(mode="json") for rule in self.rules]) if self.rules else ""

    @property
    def key(self) -> JSONObject:
        """What labels under this list carry: the version that matched, and all that it left out."""
        if not self.rules:
            return {}
        said = [*sorted(DEFAULT_IGNORED), *(rule.said for rule in self.rules)]
        return {"ignored": list(said), "ignore_list": self.version}

    def rules_for(self, type: StepType, called: str) -> tuple[IgnoreRule, ...]:
        """The rules for steps of a type and name."""
        return _touching(self.rules, str(type), called)

    def reduce(self, type: StepType, called: str, input: JSONValue, known: ReductionCache | None = None) -> JSONValue:
        """A step's input without what is ignored; the input itself is left as it is.

        What is `known` is not reduced again: of many calls, equal entries stay one object.
        """
        for rule in self.rules_for(type, called):
            input = without(input, rule.path, rule.within, known)
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
        known: ReductionCache | None = None,
    ) -> str:
        """The signature of a call under this list; empty where no rule is for such calls."""
        if not self.rules_for(type, tool_name or name):
            return ""
        plain = signature(
            type=type,
            name=name,
            input=self.reduce(type, tool_name or name, input, known),
            provider=provider,
            model=model,
            tool_name=tool_name,
            digest_of=digest_of,
        )
        return f"{VERSION}{_MARK}{self.digest[:12]}:{plain.rpartition(':')[2]}"


NO_RULES: Final = IgnoreRules()


def is_reduced(signed: str) -> bool:
    """Whether a signature was made under an ignore list."""
    return _MARK in signed


def without(value: JSONValue, path: Path, within: Kind | None, known: ReductionCache | None = None) -> JSONValue:
    """A copy of `value` without the fields at `path`, or with their times or ids masked."""
    if not path:
        return _masked(value, within)
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        return _without_keys(value, [key for key in value if head in {"*", key}], rest, within, known)
    if isinstance(value, list):
        places = {index for index in range(len(value)) if head in {"*", str(index)}}
        return [_entry(item, rest, within, known) if at in places else item for at, item in enumerate(value)]
    return value


def pointer(path: Iterable[str]) -> str:
    return "".join(f"/{part if part == '*' else escape_pointer(part)}" for part in path)


def _entry(item: JSONValue, path: Path, within: Kind | None, known: ReductionCache | None) -> JSONValue:
    if known is None or not isinstance(item, dict | list):
        return without(item, path, within)
    key = (id(item), path, within)
    if key not in known:
        known[key] = item, without(item, path, within, known)  # the item is kept, lest its id be given to another
    return known[key][1]


def _without_keys(
    value: JSONObject, keys: list[str], rest: Path, within: Kind | None, known: ReductionCache | None
) -> JSONObject:
    if not rest and within is None:
        return {key: item for key, item in value.items() if key not in keys}
    return {key: without(item, rest, within, known) if key in keys else item for key, item in value.items()}


def _masked(value: JSONValue, within: Kind | None) -> JSONValue:
    """A value that is ignored where it cannot be taken out of its list, or a text with its times or ids masked."""
    if within is None:
        return None
    return mask(value, within) if isinstance(value, str) else value


@lru_cache(maxsize=4096)
def _touching(rules: tuple[IgnoreRule, ...], type: str, called: str) -> tuple[IgnoreRule, ...]:
    return tuple(rule for rule in rules if rule.type == type and fnmatchcase(called, rule.name))
