"""Store the segments of runs as they arrive. What is acknowledged is committed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Sum

from traces.core.canonical import digest
from traces.core.ids import new_id
from traces.core.step_header import evolve, step_view
from traces.errors import NotFound, ProblemError
from traces.ingest.seal_times import FIRST_LOOK, LONGEST_PAUSE
from traces.models import Recording, Segment
from traces.recordings import event_numbers, segment_redaction, wake_up
from traces.recordings.event_numbers import Conflict
from traces.redaction.redactor import Redaction
from traces.redaction_policies import services as policies
from traces.storage import bulk
from traces.storage.compression import FAST, compress

_STATE_COLUMNS: Final = ("version", "arrived_at", "has_ended", "is_final", "due_at")
_DEFAULTS: Final = {"assembled_version": 0, "is_complete": False, "problem": ""}
_RECORDING_COLUMNS: Final = ("id", "key", "project", "external_id", *_STATE_COLUMNS, *_DEFAULTS)
_SEGMENT_COLUMNS: Final = (
    "recording",
    "digest",
    "format",
    "file",
    "size",
    "checks",
    "first_number",
    "last_number",
    "data",
)


class WrongOffset(ProblemError):
    """A part of a file that does not continue what is stored of it."""

    code = "conflict"
    status = 409


@step_view
class NewSegment:
    """The records of one request that belong to one run, in the format of an importer.

    `has_ended`: they contain the end of the run's root step. `is_final`: the client declares the run finished. `file`:
    they are the part of this file that starts at `offset`, rather than records that stand alone. `numbers`: those of
    its events, one per line, and `places` where they stand in their request.
    """

    external_id: str
    format: str
    data: bytes
    has_ended: bool = False
    is_final: bool = False
    file: str = ""
    offset: int = 0
    # As it arrived; redaction may change its length.
    original_size: int | None = None
    # Versions of the detectors that looked at it. A part of a file may end inside a value, so that it has none.
    checks: str = ""
    numbers: Sequence[int] = ()
    places: Sequence[int] = ()

    @property
    def size(self) -> int:
        return len(self.data) if self.original_size is None else self.original_size

    @property
    def location(self) -> bytes:
        """Where it is in its file; empty for records that stand alone."""
        return f"{self.file}:{self.offset}:".encode() if self.file else b""


class _Earlier(NamedTuple):
    """A recording of which segments have arrived before."""

    id: UUID
    version: int
    assembled_version: int
    has_ended: bool
    is_final: bool
    due_at: datetime | None
    refresh_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Recordings:
    """The recordings of some segments: the ids of all, and those that have segments already, by key."""

    ids: Mapping[str, UUID]
    earlier: Mapping[str, _Earlier]


def accept(segments: Sequence[NewSegment], *, project: str = "", checks_numbers: bool = False) -> list[Conflict]:
    """Store segments, once each; they are committed on return. `project` is the app of their runs, or empty.

    Segments that are stored already change nothing, so that a client may send a batch again. `checks_numbers`: leave
    out the events that contradict stored ones, and return them; otherwise, the run will show the contradiction.
    """
    if not segments:
        return []
    by_key: dict[str, list[NewSegment]] = {}
    for segment in _redact(segments, policies.redaction_of(project)):
        by_key.setdefault(_key(project, segment.external_id), []).append(segment)
    now = datetime.now(UTC)
    with transaction.atomic():
        recordings = _insert_recordings(by_key, project, now)
        conflicts = _leave_out_conflicts(recordings, by_key) if checks_numbers else []
        changed_keys = _insert_segments(recordings, by_key)
        earlier = recordings.earlier
        _schedule([(earlier[key], by_key[key]) for key in changed_keys if key in earlier], now)
    transaction.on_commit(wake_up.signal)
    return conflicts


def append(part: NewSegment) -> int:
    """Store the next part of a file and return the size of the file then; raise `WrongOffset`."""
    with transaction.atomic():
        part = replace(part, external_id=_safe_id(part.external_id, ""))
        size = _file_size(_open_recording(part.external_id).id, part.file)
        if part.offset != size:
            raise WrongOffset(
                f"{size} bytes of {part.file} are stored, so the next part starts there, not at {part.offset}"
            )
        accept([part])
        return size + part.size


def file_size(external_id: str, file: str) -> int:
    """Return how many bytes of a file are stored."""
    recording = Recording.objects.filter(key=_key("", _safe_id(external_id, ""))).first()
    return _file_size(recording.id, file) if recording else 0


def _file_size(recording_id: UUID, file: str) -> int:
    return Segment.objects.filter(recording=recording_id, file=file).aggregate(size=Sum("size"))["size"] or 0


def move(external_ids: Mapping[str, str], *, project: str = "") -> None:
    """Move what arrived under other ids to the runs that it belongs to; `external_ids` maps the one to the other.

    Recordings that have become runs stay where they are.
    """
    targets_by_key = {_key(project, source): target for source, target in external_ids.items()}
    now = datetime.now(UTC)
    with transaction.atomic():
        for chunk in bulk.chunks(sorted(targets_by_key)):
            sources = Recording.objects.select_for_update().filter(key__in=chunk, run__isnull=True).order_by("key")
            for source in sources:
                _move_segments(source, _key(project, targets_by_key[source.key]), now)


def _move_segments(source: Recording, target_key: str, now: datetime) -> None:
    target = _lock([target_key]).get(target_key)
    if target is None:
        return
    digests = Segment.objects.filter(recording=target.id).values_list("digest", flat=True)
    Segment.objects.filter(recording=source).exclude(digest__in=list(digests)).update(recording=target.id)
    source.delete()
    _schedule([(target, [])], now)


def finalize(external_id: str, *, project: str = "") -> None:
    """Seal a recording without waiting for more; raise `NotFound`. Does nothing if it is sealed."""
    external_id = _safe_id(external_id, project)
    with transaction.atomic():
        recording = Recording.objects.select_for_update().filter(key=_key(project, external_id)).first()
        if recording is None:
            raise NotFound(f"no events of run “{external_id[:200]}” have arrived")
        if recording.due_at is not None:
            recording.is_final, recording.due_at = True, datetime.now(UTC)
            recording.save(update_fields=["is_final", "due_at"])
    transaction.on_commit(wake_up.signal)


def _redact(segments: Sequence[NewSegment], redaction: Redaction) -> Iterator[NewSegment]:
    redactor = redaction.redactor()
    has_safe_ids = not redactor.suspects_any(segment.external_id for segment in segments)
    for segment in segments:
        records = segment_redaction.redact_data(segment.data, redaction)
        external_id = segment.external_id if has_safe_ids else redaction.redactor().text(segment.external_id)
        checks = "" if segment.file else records.checks
        yield evolve(segment, external_id=external_id, data=records.data, original_size=segment.size, checks=checks)


def _safe_id(external_id: str, project: str) -> str:
    """Return the external id under which the segments of a run are stored."""
    return policies.redaction_of(project).redactor().text(external_id)


def _key(project: str, external_id: str) -> str:
    return digest([project, external_id])


def _open_recording(external_id: str) -> _Earlier:
    """Lock a recording without a project; create it if it is missing."""
    key = _key("", external_id)
    row = (new_id(), key, "", external_id, 0, datetime.now(UTC), False, False, None, *_DEFAULTS.values())
    bulk.insert(Recording, _RECORDING_COLUMNS, [row], ignore_conflicts=True)
    return _lock([key])[key]


def _lock(keys: Sequence[str]) -> dict[str, _Earlier]:
    """Lock recordings, in one order for all writers; return those that exist, by key."""
    ending = f"WHERE key IN ({', '.join(['%s'] * len(keys))}) ORDER BY key"
    if connection.features.has_select_for_update:
        ending += " FOR UPDATE"
    recordings: dict[str, _Earlier] = {}
    for key, *columns in bulk.select(Recording, ("key", *_Earlier._fields), ending, sorted(keys)):
        row = _Earlier._make(columns)
        recordings[key] = row._replace(
            id=bulk.uuid_of(row.id), due_at=bulk.time_of(row.due_at), refresh_at=bulk.time_of(row.refresh_at)
        )
    return recordings


def _insert_recordings(by_key: Mapping[str, Sequence[NewSegment]], project: str, now: datetime) -> _Recordings:
    """Insert the recordings that are missing, as they are now, and lock the others; in one order for all writers."""
    ids = {key: new_id() for key in sorted(by_key)}
    rows = (_new_row(id, key, project, by_key[key], now) for key, id in ids.items())
    earlier: dict[str, _Earlier] = {}
    if bulk.insert(Recording, _RECORDING_COLUMNS, rows, ignore_conflicts=True) < len(ids):
        for keys in bulk.chunks(ids):
            earlier |= {key: recording for key, recording in _lock(keys).items() if recording.id != ids[key]}
    return _Recordings(ids=ids | {key: recording.id for key, recording in earlier.items()}, earlier=earlier)


def _new_row(id: UUID, key: str, project: str, segments: Sequence[NewSegment], now: datetime) -> tuple[object, ...]:
    has_ended = any(segment.has_ended for segment in segments)
    is_final = any(segment.is_final for segment in segments)
    state = (1, now, has_ended, is_final, now + FIRST_LOOK)
    return (id, key, project, segments[0].external_id, *state, *_DEFAULTS.values())


def _leave_out_conflicts(recordings: _Recordings, by_key: dict[str, list[NewSegment]]) -> list[Conflict]:
    """Remove the events that contradict earlier ones, and return them."""
    all_conflicts: list[Conflict] = []
    for key, segments in by_key.items():
        recording_id = recordings.ids[key] if key in recordings.earlier else None
        for index, segment in enumerate(segments):
            data, conflicts = event_numbers.split_lines(recording_id, segment.data, segment.numbers, segment.places)
            if conflicts:
                segments[index] = replace(segment, data=data, original_size=None)
                all_conflicts += conflicts
        segments[:] = [segment for segment in segments if segment.data]
    return all_conflicts


def _insert_segments(recordings: _Recordings, by_key: Mapping[str, Sequence[NewSegment]]) -> list[str]:
    """Store the segments that are not stored yet; return the keys of the recordings that got any."""
    arrivals: dict[tuple[UUID, str], tuple[str, NewSegment, bytes]] = {}
    for key, segments in by_key.items():
        for segment in segments:
            data = compress(segment.data, level=FAST)
            # Of the compressed records, because hashing takes three times as long as compressing.
            name = sha256(segment.location + data).hexdigest()
            arrivals[recordings.ids[key], name] = (key, segment, data)
    for identity in _existing_segments(arrivals, recordings):
        del arrivals[identity]
    rows = ((id, name, *_values(segment), data) for (id, name), (_, segment, data) in arrivals.items())
    bulk.insert(Segment, _SEGMENT_COLUMNS, rows)
    return list(dict.fromkeys(key for key, _, _ in arrivals.values()))


def _existing_segments(identities: Iterable[tuple[UUID, str]], recordings: _Recordings) -> set[tuple[UUID, str]]:
    """Return those of some identities, recording and digest, that are stored; a new recording has none."""
    earlier_ids = {recording.id for recording in recordings.earlier.values()}
    candidates = [identity for identity in identities if identity[0] in earlier_ids]
    existing: set[tuple[UUID, str]] = set()
    for chunk in bulk.chunks(candidates, bulk.CHUNK // 2):
        ids, digests = zip(*chunk, strict=True)
        same = Segment.objects.filter(recording_id__in=set(ids), digest__in=set(digests))
        existing.update(same.values_list("recording_id", "digest"))
    return existing.intersection(candidates)


def _values(segment: NewSegment) -> tuple[object, ...]:
    numbers = (min(segment.numbers), max(segment.numbers)) if segment.numbers else (None, None)
    return segment.format, segment.file, segment.size, segment.checks, *numbers


def _schedule(arrivals: Sequence[tuple[_Earlier, Sequence[NewSegment]]], now: datetime) -> None:
    """Note what has arrived of earlier recordings, and when to assemble it."""
    rows = []
    for recording, segments in arrivals:
        due_at = max(now + FIRST_LOOK, recording.refresh_at or now)
        if recording.due_at is not None and recording.version != recording.assembled_version:
            due_at = recording.due_at
        has_ended = recording.has_ended or any(segment.has_ended for segment in segments)
        is_final = recording.is_final or any(segment.is_final for segment in segments)
        # Not later than an assembly ever waits: the clock may have been set back since that time was noted.
        due_at = min(due_at, now + LONGEST_PAUSE)
        rows.append((recording.version + 1, now, has_ended, is_final, due_at, recording.id))
    bulk.update(Recording, _STATE_COLUMNS, rows)
