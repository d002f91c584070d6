"""Configured retrievers, and the lookup of the one that answers a step."""

from collections.abc import Callable, Sequence
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.core.calls import RetrieverMatch
from replay.live import providers
from replay.live.operator_entries import parse_entry
from replay.live.retrieval.types import Retriever, RetrieverEntry
from traces.core.json_access import as_object, as_string, has_string
from traces.core.json_types import JSONValue

VARIABLE: Final = "FORKPOINT_RETRIEVERS"


def configured_retrievers() -> dict[str, Retriever]:
    """Return the retrievers by name; raises `ImproperlyConfigured` that names the entry and the fix."""
    return {name: _retriever(name, entry) for name, entry in settings.RETRIEVERS.items()}


def find_retriever(
    step: str,
    input: JSONValue,
    profile: str | None,
    store: Callable[[], str],
    retrievers: Sequence[Retriever] | None = None,
) -> RetrieverMatch:
    """Find the first configured retriever that answers this step.

    `profile` is the embedding profile of an override.

    Callers with many steps pass `retrievers` to read the configuration once.
    """
    retrievers = list(configured_retrievers().values()) if retrievers is None else retrievers
    if not retrievers:
        return RetrieverMatch(reason="no retriever is configured")
    if not has_string(input, "query"):
        return RetrieverMatch(reason="the step's input contains no query text")
    matching = [retriever for retriever in retrievers if retriever.serves(step, store)]
    if not matching:
        names, note = _names(retrievers), _store_note(retrievers, store)
        return RetrieverMatch(reason=f"none of the configured retrievers ({names}) serves “{step}”{note}")
    match = next((retriever for retriever in matching if _has(retriever, profile)), None)
    if match is None:
        profiles = sorted({name for retriever in matching for name in retriever.entry.embeddings})
        return RetrieverMatch(
            reason=f"{_names(matching)} has no embedding profile “{profile}”: it has {', '.join(profiles)}"
        )
    return _to_match(match, as_object(input))


def _to_match(retriever: Retriever, input: dict[str, JSONValue]) -> RetrieverMatch:
    embedding = retriever.entry.embeddings.get(retriever.embedding(as_string(input.get("embedding_profile")) or None))
    if embedding is None or embedding.provider is None:
        return RetrieverMatch(name=retriever.name)
    return RetrieverMatch(name=retriever.name, provider=embedding.provider, model=embedding.model or "")


def _has(retriever: Retriever, profile: str | None) -> bool:
    """True if the retriever has the profile.

    A store that embeds texts itself receives the name of any profile.
    """
    return profile is None or not retriever.entry.embeddings or profile in retriever.entry.embeddings


def _store_note(retrievers: Sequence[Retriever], store: Callable[[], str]) -> str:
    """Describe the recorded store, if any retriever selects by store."""
    if not any(retriever.entry.stores for retriever in retrievers):
        return ""
    return f" of the store “{name}”" if (name := store()) else ", whose recording names no store"


def _names(retrievers: Sequence[Retriever]) -> str:
    return ", ".join(retriever.name for retriever in retrievers)


def _retriever(name: str, value: object) -> Retriever:
    location = f"{VARIABLE}.{name}"
    entry = parse_entry(RetrieverEntry, location, value)
    available = providers.configured_providers()
    for profile, embedding in entry.embeddings.items():
        if embedding.provider is None:
            continue
        place = f"{location}.embeddings.{profile}.provider"
        if embedding.provider not in available:
            raise ImproperlyConfigured(f"{place} is “{embedding.provider}”, which is not a configured provider.")
        if not available[embedding.provider].openai_url:
            raise ImproperlyConfigured(f"{place}: “{embedding.provider}” does not speak the OpenAI protocol.")
    return Retriever(name=name, entry=entry)
