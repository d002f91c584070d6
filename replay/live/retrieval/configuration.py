"""Which retrievers can be asked: those that the operator configured, and which of them answers a step."""

from collections.abc import Callable, Sequence
from typing import Final

import pydantic
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from replay.core.calls import RetrieverMatch
from replay.live import providers
from replay.live.retrieval.types import Retriever, RetrieverEntry
from traces.core.json_types import JSONValue

VARIABLE: Final = "FORKPOINT_RETRIEVERS"


def configured_retrievers() -> dict[str, Retriever]:
    """The retrievers by name; raises `ImproperlyConfigured` naming the entry and the fix."""
    return {name: _retriever(name, entry) for name, entry in settings.RETRIEVERS.items()}


def find_retriever(
    step: str, input: JSONValue, profile: str | None, store: Callable[[], str], known: Sequence[Retriever] | None = None
) -> RetrieverMatch:
    """The first retriever, as they are listed, that answers this step; `profile` is what an override demands.

    `known` are the configured ones, for who asks for many steps.
    """
    known = list(configured_retrievers().values()) if known is None else known
    if not known:
        return RetrieverMatch(reason="no retriever is configured")
    if not isinstance(input, dict) or not isinstance(input.get("query"), str):
        return RetrieverMatch(reason="the step's input holds no query text to search for")
    able = [retriever for retriever in known if retriever.serves(step, store)]
    if not able:
        return RetrieverMatch(
            reason=f"none of the configured retrievers ({_names(known)}) serves {step!r}{_of(known, store)}"
        )
    chosen = next((one for one in able if _has(one, profile)), None)
    if chosen is None:
        profiles = sorted({name for one in able for name in one.entry.embeddings})
        return RetrieverMatch(
            reason=f"{_names(able)} has no embedding profile {profile!r}: there is {', '.join(profiles)}"
        )
    return _serving(chosen, input)


def _serving(retriever: Retriever, input: dict[str, JSONValue]) -> RetrieverMatch:
    asked = input.get("embedding_profile")
    used = retriever.entry.embeddings.get(retriever.embedding(asked if isinstance(asked, str) else None))
    if used is None or used.provider is None:
        return RetrieverMatch(name=retriever.name)
    return RetrieverMatch(name=retriever.name, provider=used.provider, model=used.model or "")


def _has(retriever: Retriever, profile: str | None) -> bool:
    """A store that embeds texts itself takes any profile: it is told the name."""
    return profile is None or not retriever.entry.embeddings or profile in retriever.entry.embeddings


def _of(known: Sequence[Retriever], store: Callable[[], str]) -> str:
    """The store that the recording names, where a retriever goes by it."""
    if not any(retriever.entry.stores for retriever in known):
        return ""
    return f" of the store {named!r}" if (named := store()) else ", whose recording names no store"


def _names(retrievers: Sequence[Retriever]) -> str:
    return ", ".join(retriever.name for retriever in retrievers)


def _retriever(name: str, given: object) -> Retriever:
    where = f"{VARIABLE}[{name!r}]"
    try:
        entry = RetrieverEntry.model_validate(given)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = "".join(f"[{part!r}]" for part in first["loc"])
        raise ImproperlyConfigured(f"{where}{place}: {first['msg']}.") from error
    known = providers.configured_providers()
    for profile, embedding in entry.embeddings.items():
        if embedding.provider is None:
            continue
        place = f"{where}['embeddings'][{profile!r}]['provider']"
        if embedding.provider not in known:
            raise ImproperlyConfigured(f"{place} is {embedding.provider!r}, which is no configured provider.")
        if known[embedding.provider].protocol != "openai":
            raise ImproperlyConfigured(f"{place}: {embedding.provider!r} does not speak the OpenAI protocol.")
    return Retriever(name=name, entry=entry)
