"""Edit scripts for transcripts, with the map from each old step to its new position."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from tests.bench.attribution.transcripts import exchange
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun

_FILLERS: Final = ("indeed", "of course", "well", "now", "then", "certainly", "as far as I can see")


@dataclass
class Script:
    """Transcript being edited: blocks of related messages, each message with its old position or None."""

    blocks: list[list[tuple[int | None, JSONObject]]]
    applied_edits: list[str] = field(default_factory=list)

    @property
    def messages(self) -> list[tuple[int | None, JSONObject]]:
        return [message for block in self.blocks for message in block]


def split_blocks(messages: Sequence[JSONObject]) -> Script:
    """Split a transcript into blocks: a call with its results is one block, any other message is its own."""
    blocks: list[list[tuple[int | None, JSONObject]]] = []
    for position, message in enumerate(messages):
        if message["role"] == "tool" and blocks:
            blocks[-1].append((position, message))
        else:
            blocks.append([(position, message)])
    return Script(blocks=blocks)


def _is_exchange(block: list[tuple[int | None, JSONObject]]) -> bool:
    return len(block) > 1 and bool(block[0][1].get("tool_calls"))


def _exchanges(script: Script) -> list[int]:
    return [at for at, block in enumerate(script.blocks) if _is_exchange(block)]


def _pick(script: Script, rng: random.Random) -> int | None:
    exchanges = _exchanges(script)
    return rng.choice(exchanges) if exchanges else None


def _delete(script: Script, rng: random.Random) -> bool:
    at = _pick(script, rng)
    if at is None:
        return False
    del script.blocks[at]
    return True


def _insert(script: Script, rng: random.Random) -> bool:
    at = rng.randint(2, len(script.blocks))
    script.blocks.insert(at, [(None, message) for message in exchange(rng, f"new_{rng.random()}")])
    return True


def _swap(script: Script, rng: random.Random) -> bool:
    """Swap two neighbouring exchanges with different calls."""
    pairs = [
        at
        for at in _exchanges(script)
        if at + 1 < len(script.blocks)
        and _is_exchange(script.blocks[at + 1])
        and _requested_calls(script.blocks[at]) != _requested_calls(script.blocks[at + 1])
    ]
    if not pairs:
        return False
    at = rng.choice(pairs)
    script.blocks[at : at + 2] = script.blocks[at : at + 2][::-1]
    return True


def _loop(script: Script, rng: random.Random) -> bool:
    """Repeat a call one to three times directly after itself."""
    at = _pick(script, rng)
    if at is None:
        return False
    copies = [_with_new_ids(script.blocks[at], rng) for _ in range(rng.randint(1, 3))]
    script.blocks[at + 1 : at + 1] = copies
    return True


def _with_new_ids(
    block: list[tuple[int | None, JSONObject]], rng: random.Random
) -> list[tuple[int | None, JSONObject]]:
    text = orjson.dumps([message for _, message in block]).decode()
    for call_id in _call_ids(block):
        text = text.replace(call_id, f"again_{rng.randrange(10**9)}")
    return [(None, message) for message in orjson.loads(text)]


def _rename_ids(script: Script, rng: random.Random) -> bool:
    """Replace all call ids, as in a second run."""
    text = orjson.dumps(script.messages).decode()
    for number, call_id in enumerate(_call_ids(script.messages)):
        text = text.replace(f'"{call_id}"', f'"other_{number}_{rng.randrange(10**9)}"')
    messages = iter(orjson.loads(text))
    script.blocks = [[tuple(next(messages)) for _ in block] for block in script.blocks]
    return True


def _change_argument(script: Script, rng: random.Random) -> bool:
    at = _pick(script, rng)
    if at is None:
        return False
    block = orjson.loads(orjson.dumps(script.blocks[at]))
    call = rng.choice(block[0][1]["tool_calls"])
    if not isinstance(call["arguments"], dict) or not call["arguments"]:
        return False
    call["arguments"][rng.choice(list(call["arguments"]))] = f"changed {rng.randint(0, 10**6)}"
    script.blocks[at] = [tuple(message) for message in block]
    return True


def _paraphrase_message(script: Script, rng: random.Random) -> bool:
    candidates = [
        (b, m)
        for b, block in enumerate(script.blocks)
        for m, (_, message) in enumerate(block)
        if message["role"] in {"assistant", "user"}
        and isinstance(message.get("content"), str)
        and len(str(message["content"]).split()) >= 6
    ]
    if not candidates:
        return False
    b, m = rng.choice(candidates)
    old, message = script.blocks[b][m]
    script.blocks[b][m] = (old, {**message, "content": paraphrase(str(message["content"]), rng)})
    return True


def paraphrase(text: str, rng: random.Random) -> str:
    """Drop about a fifth of the words, insert two fillers and swap two neighbouring words."""
    words = [word for word in text.split() if rng.random() > 0.2]
    for filler in rng.sample(_FILLERS, 2):
        words.insert(rng.randint(0, len(words)), filler)
    at = rng.randrange(len(words) - 1)
    words[at : at + 2] = words[at : at + 2][::-1]
    return " ".join(words)


EDITS: Final[dict[str, Callable[[Script, random.Random], bool]]] = {
    "insert": _insert,
    "delete": _delete,
    "swap": _swap,
    "loop": _loop,
    "rename ids": _rename_ids,
    "change argument": _change_argument,
    "paraphrase": _paraphrase_message,
}


def apply_edits(messages: Sequence[JSONObject], kinds: Sequence[str], rng: random.Random) -> Script:
    """Apply edits of these kinds; skip kinds that do not fit anywhere."""
    script = split_blocks(messages)
    for kind in kinds:
        if EDITS[kind](script, rng):
            script.applied_edits.append(kind)
    return script


def truth(base: RecordedRun, candidate: RecordedRun, script: Script) -> dict[int, int]:
    """Map each remaining old step's index to its new index. Importers name steps after their message."""
    places = {old: new for new, (old, _) in enumerate(script.messages) if old is not None}
    new_indexes = {place: index for index, place in enumerate(_places(candidate))}
    moves = {}
    for index, (number, ordinal) in enumerate(_places(base)):
        place = number if number < 0 else places.get(number)
        if place is not None and (place, ordinal) in new_indexes:
            moves[index] = new_indexes[place, ordinal]
    return moves


def _places(run: RecordedRun) -> list[tuple[int, int]]:
    """Return each step's message position (negative: step of the whole run) and its ordinal within the message."""
    places: list[tuple[int, int]] = []
    ordinals: dict[int, int] = {}
    for step in run.steps:
        head = step.key.split(".")[0].removeprefix("msg-")
        number = int(head) - 1 if head.isdecimal() else -1 - (step.key == "output")
        ordinals[number] = ordinals.get(number, -1) + 1
        places.append((number, ordinals[number]))
    return places


def _requested_calls(block: list[tuple[int | None, JSONObject]]) -> JSONValue:
    calls = block[0][1].get("tool_calls")
    return [{**call, "id": ""} for call in calls if isinstance(call, dict)] if isinstance(calls, list) else None


def _call_ids(messages: Sequence[tuple[int | None, JSONObject]]) -> list[str]:
    ids = []
    for _, message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("id"):
                ids.append(str(call["id"]))
    return ids
