"""Overridden tool results that no recording contains. Pure.

No recording has an answer to a request with such a result, whatever else it contains, so a plan need not build it:

    recorded   step 1 requests get_order -> step 2 returns "shipped" -> step 3 reads "shipped"
    profile    step 2 returns "lost"
    plan       no stored message has "lost" as the result of this call, so the request of step 3 is new
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial

from replay.core.applied_profile import AppliedProfile
from replay.core.context import NewResults
from replay.core.graph import Graph, Link
from replay.core.values.unread import Unread
from replay.inputs.changes import Change
from replay.inputs.rebuilt_inputs import message_place, rebuild_slots
from replay.overrides.edits import Edits
from replay.planning.plan_environment import Sources
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest
from traces.payloads.parts import MissingPart
from traces.payloads.splitter import Splitter


def new_results(graph: Graph, profile: AppliedProfile, sources: Sources) -> NewResults:
    """Changed results of tools, each with a model step whose request gets a message that no recording contains."""
    changes, splitter = _changes(graph, profile, sources), Splitter()
    digests: dict[int, list[str]] = {}
    texts: dict[tuple[int, int], str] = {}
    read_messages = partial(_read_messages, sources)
    links_by_reader = _first_readers(graph, changes.keys())
    for no, links in links_by_reader.items():
        reader = graph.by_no[no]
        if sources.ignoring.rules_for(StepType.MODEL, reader.callee):
            # An ignore list may leave the result out of the signature.
            continue
        edits, messages = profile.edits_of(reader), None
        with suppress(MissingPart):
            if not edits.messages and "system" not in edits.prompt:
                messages = sources.results.replacements(reader, links, changes, read_messages, texts)
            if messages is None:
                recorded_messages = ModelRequest(sources.payload(reader.input_ref)).messages
                messages = _changed_messages(recorded_messages, links, changes, edits)
            digests[no] = [splitter.part_digest(message) for message in messages]
    stored_digests = sources.stored_messages({digest for own in digests.values() for digest in own})
    return frozenset(
        (link.producer, no)
        for no, own in digests.items()
        if any(digest not in stored_digests for digest in own)
        for link in links_by_reader[no]
    )


def _read_messages(sources: Sources, ref: str, start: int) -> Sequence[JSONValue]:
    if sources.messages is not None:
        return sources.messages(ref, start)
    return ModelRequest(sources.payload(ref)).messages[start:]


def _changes(graph: Graph, profile: AppliedProfile, sources: Sources) -> dict[int, Change]:
    """Overridden outputs that differ from the recording, by tool step."""
    overrides = {id(edits): edits.tool for edits in profile.distinct if edits.tool is not None}
    digests = {key: Splitter().digest(override.output) for key, override in overrides.items()}
    changes: dict[int, Change] = {}
    for no, edits in profile.by_step.items() if overrides else ():
        node, override = graph.by_no[no], overrides.get(id(edits))
        if override is not None and node.output_ref and node.output_ref != digests[id(edits)]:
            original = Unread(sources.payload, node.output_ref)
            changes[no] = Change(node=node, original=original, current=override.output)
    return changes


def _first_readers(graph: Graph, tools: Collection[int]) -> dict[int, list[Link]]:
    """Links to results of these tools, by the first model step of each conversation that reads one.

    Later requests of a conversation also contain the reader's answer: if the plan does not know it, they need no check.
    """
    links_by_reader: dict[int, list[Link]] = {}
    covered_steps: set[int] = set()
    for node in graph.nodes if tools else ():
        if node.type is not StepType.MODEL:
            continue
        previous_request = graph.continuations.get(node.no)
        if previous_request is not None and previous_request.producer in covered_steps:
            covered_steps.add(node.no)
        elif links := [link for link in graph.links.get(node.no, ()) if link.producer in tools]:
            covered_steps.add(node.no)
            links_by_reader[node.no] = links
    return links_by_reader


def _changed_messages(
    recorded_messages: Sequence[JSONValue], links: Sequence[Link], changes: Mapping[int, Change], edits: Edits
) -> list[JSONValue]:
    """Messages of a request that contain changed results."""
    slots = edits.apply_to(rebuild_slots(recorded_messages, None, [(link, changes[link.producer]) for link in links]))
    places = [message_place(link.consumer_path)[0] for link in links]
    return [message for place in places if place is not None and place < len(slots) for message in slots[place]]
