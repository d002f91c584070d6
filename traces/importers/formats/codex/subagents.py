"""Subagents of Codex: threads with rollouts of their own, and what states which call started them.

An event names the call and the thread that it started, or the result of the call does, by the thread's id or the
agent's path.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member
from traces.core.json_types import JSONObject
from traces.importers.common.identity import content_id
from traces.importers.files.errors import BadFile
from traces.importers.formats.session_logs.threads import MOST_LEVELS

# A record and its location.
Record = tuple[JSONObject, str]
_META: Final = "session_meta"
_STARTS: Final = (None, "", "started")


def spawn_of(meta: JSONObject) -> JSONObject:
    """Return what the facts about a session state of how it was started by another."""
    source = as_object(meta.get("source"))
    return as_object(as_object(first_member(source, "subagent", "subAgent")).get("thread_spawn"))


def path_of(meta: JSONObject) -> str:
    """Return the path of the agent of a session, as calls name it."""
    return as_text(meta.get("agent_path")) or as_text(spawn_of(meta).get("agent_path"))


def parent_of(meta: JSONObject) -> str:
    """Return the thread that started a session; empty for a session of the user."""
    return as_text(first_member(meta, "parent_thread_id", "parentThreadId")) or as_text(
        spawn_of(meta).get("parent_thread_id")
    )


def started_threads(event: JSONObject) -> Iterator[tuple[str, str]]:
    """Yield the thread and the path that a call started, each with the id of the call."""
    item = as_object(event.get("item")) or event
    call = as_text(first_member(item, "call_id", "event_id", "id"))
    if item.get("kind") not in _STARTS or not call:
        return
    receivers = as_list(item.get("receiver_thread_ids")) if "spawn" in as_text(item.get("tool")).lower() else []
    for name in (item.get("new_thread_id"), item.get("agent_thread_id"), item.get("agent_path"), *receivers):
        if name:
            yield as_text(name), call


def content_ids(records: Iterable[Record]) -> Iterator[str]:
    """Yield the digests of records, by which a copy is recognised."""
    for record, location in records:
        with suppress(BadFile):
            yield content_id(record.get("payload"), location)


def start_of_own(records: Sequence[Record], outer_ids: Iterable[Set[str]]) -> str:
    """Return where a thread's own records begin; empty if it does not begin with a copy of those around it.

    `outer_ids` are the digests of the records in each file around it. Later versions state the beginning by a number.
    """
    metas = [record for record, _ in records if record.get("type") == _META]
    if len(metas) < 2 or "subagent_history_start_ordinal" in as_object(metas[0].get("payload")):
        return ""
    known_ids, is_copy = [*outer_ids], False
    for record, location in records:
        id = content_id(record.get("payload"), location)
        if any(id in ids for ids in known_ids):
            is_copy = True
        elif record.get("type") != _META:
            return location if is_copy else ""
    return ""


def families(parents: dict[str, str]) -> Iterable[Sequence[str]]:
    """Return the ids of threads, those around each other together; `parents` are the threads that started them."""
    groups: dict[str, list[str]] = defaultdict(list)
    for id in parents:
        outermost = id
        for _ in range(MOST_LEVELS):
            outermost = parents[outermost] if parents[outermost] in parents else outermost
        groups[outermost].append(id)
    return groups.values()
