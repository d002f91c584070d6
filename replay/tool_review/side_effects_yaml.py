"""Tool decisions as Kurral's `side_effects.yaml`. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from replay.core.errors import InvalidReplay
from traces.core.canonical import escape_pointer
from traces.core.json_access import has_object

_MOST_BYTES: Final = 1024 * 1024
_LONGEST_NAME: Final = 300
_HEAD: Final = """\
# true: safe, may run in a replay. false: side effect, never runs.
# done: true says that a person has reviewed every line.
"""
_SUGGESTION_HEAD: Final = "# Not reviewed yet; suggested for these reasons:\n"


_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, kw_only=True)
class ToolFile:
    """The tools of a file; `is_reviewed`: a person has reviewed all of them."""

    tools: dict[str, bool]
    is_reviewed: bool


class _Loader(yaml.SafeLoader):
    """Rejects aliases, merge keys and duplicate keys (of which the last would win silently).

    Nested aliases can expand a file of a few lines to gigabytes.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            # Of PyYAML.
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed; write the value out", mark)
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave merge keys to `construct_mapping`, which rejects them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                raise yaml.constructor.ConstructorError(None, None, "merge keys are not allowed", key.start_mark)
            if isinstance(key, yaml.ScalarNode) and key.value in keys:
                raise yaml.constructor.ConstructorError(None, None, f"“{key.value}” occurs twice", key.start_mark)
            keys.add(getattr(key, "value", None) if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


def read(text: bytes) -> ToolFile:
    """Parse a file strictly; raises `InvalidReplay` with the location."""
    if len(text) > _MOST_BYTES:
        raise InvalidReplay(f"the file is larger than {_MOST_BYTES // 1024} KiB")
    try:
        # Derived from the safe loader.
        value = yaml.load(text.decode(), _Loader)  # noqa: S506
    except UnicodeDecodeError as error:
        raise InvalidReplay(f"the file is not UTF-8: {error.reason} at byte {error.start}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidReplay(f"the file is not YAML: {' '.join(str(error).split())}") from error
    if not has_object(value, "tools"):
        raise InvalidReplay(
            "the file has no `tools:` with a line `name: true` or `name: false` for each", where="/tools"
        )
    if unknown := [str(key) for key in value if key not in {"tools", "done"}]:
        raise InvalidReplay(
            f"“{unknown[0]}” is unknown: the file has only `tools` and `done`", where=_pointer(unknown[0])
        )
    if "done" not in value:
        raise InvalidReplay("`done` is missing; set it to true if every tool has been reviewed", where="/done")
    tools = {_name(name): _boolean(safe, "tools", name) for name, safe in value["tools"].items()}
    return ToolFile(tools=tools, is_reviewed=_boolean(value["done"], "done"))


def write(tools: Mapping[str, bool], *, is_reviewed: bool, suggestions: Mapping[str, str] | None = None) -> str:
    """Write the file with tools in order of their names; a comment lists the reasons of `suggestions`."""
    value = {"tools": dict(sorted(tools.items())), "done": is_reviewed}
    # Names come from recordings: `repr` keeps each on its line.
    reasons = "".join(f"#   {name!r}: {reason}\n" for name, reason in sorted((suggestions or {}).items()))
    head = f"{_HEAD}{_SUGGESTION_HEAD}{reasons}" if reasons else _HEAD
    return head + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidReplay(
            f"the tool name {_json(name)} is not a string: put it in quotes", where=_pointer("tools", name)
        )
    if not 0 < len(name) <= _LONGEST_NAME:
        raise InvalidReplay(f"a tool name has 1 to {_LONGEST_NAME} characters", where="/tools")
    return name


def _boolean(value: object, *place: object) -> bool:
    if isinstance(value, bool):
        return value
    description = f"the string “{value}”" if isinstance(value, str) else _json(value)
    detail = f"`{place[-1]}` is {description}: write true or false, without quotes"
    raise InvalidReplay(detail[:500], where=_pointer(*place))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _pointer(*place: object) -> str:
    return "".join(f"/{escape_pointer(str(part))}" for part in place)
