"""The documents of the search index: write, delete and match them.

SQLite: an FTS5 table without content, fed with the words of each document; a row is deleted by giving it the same words
again. PostgreSQL: a GIN index on the documents themselves.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from traces.http.paging import LAST_ID
from traces.models import SearchDocument
from traces.search.tokens import MAX_LENGTH
from traces.storage import bulk
from traces.storage.compression import compress, decompress

# Position of the run's own words.
RUN_POSITION: Final = 1
_TABLE: Final = "traces_searchdocument"
_INDEX: Final = "traces_search_words"
_FTS_INSERTION: Final = f"INSERT INTO {_INDEX} (rowid, words) VALUES (%s, %s)"


@dataclass(frozen=True, kw_only=True, slots=True)
class NewDocument:
    """A section of a run: its words, and its words each with their positions, as texts."""

    run_id: UUID
    first_step: int
    words: str
    text: str

    @classmethod
    def of_positions(cls, run_id: UUID, first_step: int, positions: Mapping[str, str]) -> "NewDocument":
        """Build a document of words with their positions, which are separated by commas."""
        text = " ".join([f"{word}:{places}" for word, places in positions.items()])
        return cls(run_id=run_id, first_step=first_step, words=" ".join(positions), text=text)


class Match(NamedTuple):
    """A document that contains all words of a query."""

    id: int
    run_id: UUID


def insert(documents: Iterable[NewDocument]) -> None:
    """Add documents; call it inside a transaction."""
    insertion = f"INSERT INTO {_TABLE} (run_id, first_step, words) VALUES (%s, %s, %s)"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            _insert_fts(cursor, insertion, list(documents))
        else:
            cursor.executemany(insertion, [(item.run_id, item.first_step, item.text) for item in documents])


def set_own_words(words: Mapping[UUID, AbstractSet[str]]) -> None:
    """Replace the words of runs themselves, in the first document of each; call it inside a transaction."""
    for chunk in bulk.chunks(words):
        ids = SearchDocument.objects.filter(run_id__in=chunk, first_step=1).values_list("id", flat=True)
        if not ids:
            continue
        with connection.cursor() as cursor:
            for id, run_id, first_step, text in list(_texts(ids)):
                positions = _with_own_words(text, words[run_id])
                document = NewDocument.of_positions(run_id, first_step, positions)
                if connection.vendor == "sqlite":
                    _forget_fts(cursor, id, text)
                    cursor.execute(f"UPDATE {_TABLE} SET words = %s WHERE id = %s", [_encode(document), id])
                    _index_fts(cursor, id, document)
                else:
                    cursor.execute(f"UPDATE {_TABLE} SET words = %s WHERE id = %s", [document.text, id])


def _with_own_words(text: str, words: AbstractSet[str]) -> dict[str, str]:
    """Return the words of a document with their positions, and these in place of the run's own words."""
    positions: dict[str, str] = {}
    for entry in text.split():
        word, _, places = entry.rpartition(":")
        first, _, later_places = places.partition(",")
        if step_places := later_places if first == str(RUN_POSITION) else places:
            positions[word] = step_places
    for word in words:
        if len(word) <= MAX_LENGTH:
            step_places = positions.get(word, "")
            positions[word] = f"{RUN_POSITION},{step_places}".removesuffix(",")
    return positions


def remove(run_ids: Iterable[UUID]) -> None:
    """Delete the documents of runs, with all their words; call it inside a transaction."""
    for chunk in bulk.chunks(run_ids):
        rows = SearchDocument.objects.filter(run_id__in=chunk)
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                for id, words in rows.values_list("id", "words"):
                    _forget_fts(cursor, id, _decode(words))
        rows.delete()


def clear() -> None:
    """Delete all documents."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {_TABLE}")
        if connection.vendor == "sqlite":
            cursor.execute(f"INSERT INTO {_INDEX} ({_INDEX}) VALUES ('delete-all')")


def newest_matches(words: Sequence[str], *, before: int | None, limit: int) -> list[Match]:
    """Return the newest documents with all of these words, in descending order. The last word may be a beginning."""
    if not words:
        return []
    last = LAST_ID if before is None else before
    return _match_fts(words, last, limit) if connection.vendor == "sqlite" else _match_gin(words, last, limit)


def positions(ids: Collection[int], words: Sequence[str]) -> dict[int, tuple[UUID, int, list[set[int]]]]:
    """Return the run, the first step, and the positions of each word in some documents."""
    places = {}
    for id, run_id, first_step, text in _texts(ids):
        sets = [_positions_of(f" {word}:", text) for word in words[:-1]]
        places[id] = (run_id, first_step, [*sets, _positions_of(f" {words[-1]}", text)])
    return places


def _positions_of(start: str, text: str) -> set[int]:
    """Return the positions of the words that begin with `start`. A regular expression takes ten times as long."""
    positions: set[int] = set()
    index = text.find(start)
    while index >= 0:
        colon = text.index(":", index)
        end = text.find(" ", colon)
        positions.update(map(int, text[colon + 1 : end].split(",")))
        index = text.find(start, end)
    return positions


def _texts(ids: Collection[int]) -> Iterator[tuple[int, UUID, int, str]]:
    words = "words" if connection.vendor == "sqlite" else "CAST(words AS text)"
    with connection.cursor() as cursor:
        places = ", ".join(["%s"] * len(ids))
        cursor.execute(f"SELECT id, run_id, first_step, {words} FROM {_TABLE} WHERE id IN ({places})", list(ids))
        for id, run_id, first_step, text in cursor.fetchall():
            text = text.replace("'", "") if isinstance(text, str) else _decode(text)
            yield id, UUID(str(run_id)), first_step, f" {text} "


def _insert_fts(cursor: CursorWrapper, insertion: str, documents: Sequence[NewDocument]) -> None:
    cursor.executemany(insertion, [(item.run_id.hex, item.first_step, _encode(item)) for item in documents])
    # No other writer can take an id between them.
    cursor.execute(f"SELECT max(id) FROM {_TABLE}")
    last_id = cursor.fetchone()[0] or 0
    ids = range(last_id - len(documents) + 1, last_id + 1)
    cursor.executemany(_FTS_INSERTION, [(id, item.words) for id, item in zip(ids, documents, strict=True)])


def _index_fts(cursor: CursorWrapper, id: int, document: NewDocument) -> None:
    cursor.execute(_FTS_INSERTION, [id, document.words])


def _forget_fts(cursor: CursorWrapper, id: int, text: str) -> None:
    deletion = f"INSERT INTO {_INDEX} ({_INDEX}, rowid, words) VALUES ('delete', %s, %s)"
    cursor.execute(deletion, [id, _fts_text(text)])


def _fts_text(text: str) -> str:
    """Return the words of a document without their positions."""
    return re.sub(":[0-9,]+", "", text)


def _encode(document: NewDocument) -> bytes:
    return compress(document.text.encode())


def _decode(words: bytes | memoryview) -> str:
    return decompress(words).decode()


def _match_fts(words: Sequence[str], before: int, limit: int) -> list[Match]:
    query = " ".join([*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}"*'])
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT document.id, document.run_id FROM {_INDEX} AS found CROSS JOIN {_TABLE} AS document "
            f"ON document.id = found.rowid WHERE {_INDEX} MATCH %s AND found.rowid < %s "
            "ORDER BY found.rowid DESC LIMIT %s",
            [query, before, limit],
        )
        return [Match(id, UUID(run_id)) for id, run_id in cursor.fetchall()]


def _match_gin(words: Sequence[str], before: int, limit: int) -> list[Match]:
    query = " & ".join([*words[:-1], f"{words[-1]}:*"])
    with _bitmap_scans() as cursor:
        # `id + 0` cannot use the primary key, by which PostgreSQL would read the words of all documents.
        cursor.execute(
            f"SELECT id, run_id FROM {_TABLE} WHERE words @@ CAST(%s AS tsquery) AND id + 0 < %s "
            "ORDER BY id DESC LIMIT %s",
            [query, before, limit],
        )
        return [Match(*row) for row in cursor.fetchall()]


@contextmanager
def _bitmap_scans() -> Iterator[CursorWrapper]:
    """Read through the GIN index only: any other scan decompresses the words of each document."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
        yield cursor
