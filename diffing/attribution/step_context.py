"""What the recordings show before a step: the earlier differences that may explain one of its own."""

from collections.abc import Callable
from dataclasses import dataclass

from diffing.attribution.difference_origins import Origin
from diffing.attribution.passages import OutsideTexts
from diffing.attribution.run_inputs import RunInputs
from diffing.content.facet import Facet
from diffing.sequences.word_hunks import Hunk
from traces.core.json_types import JSONValue


@dataclass(frozen=True, kw_only=True, slots=True)
class StepContext:
    """The earlier differences that may explain a difference at a pair."""

    # Recorded data flow leads here from an earlier difference.
    is_tainted: bool
    # Messages that recorded data flow brought from a changed step, and from any step.
    changed_sources: frozenset[str]
    all_sources: frozenset[str]
    # The inputs of the runs and their turns.
    run_inputs: frozenset[str]
    # Places in the input with content of a changed step; the second set leaves out single values in other texts.
    changed_paths: frozenset[str]
    whole_changed_paths: frozenset[str]
    # On each side, the last message of the conversation that the step continues.
    history_ends: tuple[int, int]
    # Whether, on each side, the same agent has called its model before.
    continues: tuple[bool, bool]
    # An earlier output differs: any, that of a model, or the call of a tool or retriever.
    follows_output: bool
    follows_model: bool
    follows_call: bool
    # A step of one run only that no differing output explains: code was changed.
    is_left_to_code: bool
    # A model step of one run only before which code ended the agent's loop in the other run.
    is_past_limit: bool
    # What a user says at a step of one run only that goes on after all that both runs did; empty: nothing.
    further_message: str
    # Another model was called before, so that code composed the first message of this call.
    is_later_talk: bool
    # One run is a replay of the other: no code of the agent ran that could have derived anything.
    is_replay: bool
    # The two steps have different names, as if code had chosen between them.
    is_renamed: bool
    # A call of a tool that runs another agent, whose answers differ.
    runs_agent: bool
    source_places: frozenset[int]
    # The changed inputs of the runs and their turns, which messages may pass on; with them, earlier messages.
    inputs: RunInputs
    outside: OutsideTexts
    # What values of changed steps leave of the differences of system prompts, by role and texts.
    known_prompts: dict[tuple[str, str, str], list[tuple[Facet, Origin]]]
    # Whether a difference equals one between earlier outputs.
    repeats_output: Callable[[Hunk], bool]
    # Whether most words in which two texts differ occur in earlier outputs, changed or not.
    knows_words: Callable[[str, str], bool]
    # Questions about two texts: whether earlier differing outputs explain all of their differences, most, some, or a
    # part of one; the last one counts outputs that both runs have, too.
    explains_all: Callable[..., bool]
    # Whether outputs up to the end of a call explain all differences of its results.
    explains_result: Callable[[JSONValue, JSONValue], bool]
    explains_most: Callable[[str, str], bool]
    explains_some: Callable[[str, str], bool]
    explains_part: Callable[[str, str], bool]
    explains_with_equal: Callable[[str, str], bool]
