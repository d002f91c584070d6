"""Tool decisions as Kurral's `side_effects.yaml`. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from replay.core.errors import InvalidReplay
from traces.core.canonical import escape_pointer

_MOST_BYTES: Final = 1024 * 1024
_LONGEST_NAME: Final = 300
_HEAD: Final = """\
# true: safe, may run in a replay. false: side effect, never runs.
# done: true says that a person has reviewed every line.
"""
_SUGGESTED: Final = "# Not reviewed yet, and suggested because the tool:\n"


_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, kw_only=True)
class ToolFile:
    """The tools of a file; `done` says that somebody reviewed them."""

    tools: dict[str, bool]
    done: bool


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which the last would win silently, and aliases and merge keys.

    A file of a few lines whose aliases name aliases is gigabytes once it is read.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.events.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # of PyYAML
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed: write the value out", mark)
        return super().compose_node(parent, index)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave merge keys to `construct_mapping`, which refuses them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag == _MERGE:
                raise yaml.constructor.ConstructorError(None, None, "merge keys are not allowed", key.start_mark)
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", key.start_mark)
            seen.add(getattr(key, "value", None) if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep)


def read(text: bytes) -> ToolFile:
    """Raises `InvalidReplay` naming the place; nothing in the file is guessed."""
    if len(text) > _MOST_BYTES:
        raise InvalidReplay(f"the file is larger than {_MOST_BYTES // 1024} KiB")
    try:
        value = yaml.load(text.decode(), _Loader)  # noqa: S506  # derived from the safe loader
    except UnicodeDecodeError as error:
        raise InvalidReplay(f"the file is not UTF-8: {error.reason} at byte {error.start}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidReplay(f"the file is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(value, dict) or not isinstance(value.get("tools"), dict):
        raise InvalidReplay(
            "the file has no `tools:` with a line `name: true` or `name: false` for each", where="/tools"
        )
    if unknown := [str(key) for key in value if key not in {"tools", "done"}]:
        raise InvalidReplay(f"{unknown[0]!r} is not known: the file has `tools` and `done`", where=_pointer(unknown[0]))
    if "done" not in value:
        raise InvalidReplay("`done` is missing: set it to true when every tool was reviewed", where="/done")
    tools = {_name(name): _boolean(safe, "tools", name) for name, safe in value["tools"].items()}
    return ToolFile(tools=tools, done=_boolean(value["done"], "done"))


def write(tools: Mapping[str, bool], *, done: bool, suggested: Mapping[str, str] | None = None) -> str:
    """The file, its tools in order of their names; above it why those are `suggested` that nobody has reviewed."""
    value = {"tools": dict(sorted(tools.items())), "done": done}
    # A name is what a recording says: in quotes it stays on its line.
    why = "".join(f"#   {name!r} {reason}\n" for name, reason in sorted((suggested or {}).items()))
    head = f"{_HEAD}{_SUGGESTED}{why}" if why else _HEAD
    return head + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidReplay(f"the tool name {name!r} is not a text: put it in quotes", where=_pointer("tools", name))
    if not 0 < len(name) <= _LONGEST_NAME:
        raise InvalidReplay(f"a tool name has 1 to {_LONGEST_NAME} characters", where="/tools")
    return name


def _boolean(value: object, *place: object) -> bool:
    if isinstance(value, bool):
        return value
    quoted = f"the text {value!r}" if isinstance(value, str) else f"{value!r}"
    detail = f"`{place[-1]}` is {quoted}: write true or false, without quotes"
    raise InvalidReplay(detail[:500], where=_pointer(*place))


def _pointer(*place: object) -> str:
    return "".join(f"/{escape_pointer(str(part))}" for part in place)
