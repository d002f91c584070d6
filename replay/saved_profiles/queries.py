"""Read stored override profiles and policies, by name, digest or a prefix of one."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.db.models import Count, QuerySet

from replay.models import DocumentName, OverrideProfile, ReplayPolicy
from replay.saved_profiles.schemas import SHORTEST_DIGEST, Kind, PolicyList, ProfileList, StoredPolicy, StoredProfile
from traces.core.json_types import JSONObject, JSONValue
from traces.errors import NotFound

_HEX: Final = re.compile(rf"[0-9a-f]{{{SHORTEST_DIGEST},64}}")
_KIND_NAMES: Final[Mapping[Kind, str]] = {"profile": "override profile", "policy": "policy"}
# Request fields that may contain a name or digest.
_FIELDS: Final[Mapping[str, Kind]] = {"overrides": "profile", "policy": "policy"}


def insert_documents(body: JSONValue) -> JSONValue:
    """Replace names of profiles and policies in a request by the stored documents; raises `NotFound`."""
    if not isinstance(body, dict):
        return body
    references = {field: (kind, body[field]) for field, kind in _FIELDS.items() if isinstance(body.get(field), str)}
    return {
        **body,
        **{field: content(kind, str(ref), pointer=f"/{field}") for field, (kind, ref) in references.items()},
    }


def content(kind: Kind, ref: str, *, pointer: str = "") -> JSONObject:
    """Return the document with a name or digest; raises `NotFound`."""
    row = _rows(kind).get(digest=find(kind, ref, pointer=pointer))
    document: JSONObject = row.profile if isinstance(row, OverrideProfile) else row.policy
    return document


def find(kind: Kind, ref: str, *, pointer: str = "") -> str:
    """Return the digest for a name, a digest or a unique prefix of one; raises `NotFound`."""
    digest_of_name = DocumentName.objects.filter(kind=kind, name=ref).values_list("digest", flat=True).first()
    if digest_of_name is not None:
        return digest_of_name
    candidates = _rows(kind).filter(digest__startswith=ref) if _HEX.fullmatch(ref) else _rows(kind).none()
    digests = list(candidates.values_list("digest", flat=True)[:2])
    if len(digests) == 1:
        return str(digests[0])
    problem = "several digests begin with" if digests else "there is none with the name or digest"
    raise NotFound(f"{_KIND_NAMES[kind]}: {problem} “{ref}”", where=pointer)


def profile(ref: str) -> StoredProfile:
    """Return one stored profile; raises `NotFound`."""
    return _profiles([find("profile", ref)])[0]


def policy(ref: str) -> StoredPolicy:
    """Return one stored policy; raises `NotFound`."""
    return _policies([find("policy", ref)])[0]


def named_profiles() -> ProfileList:
    """Return all named profiles, ordered by their first name."""
    return ProfileList(profiles=_profiles(_names("profile")))


def named_policies() -> PolicyList:
    """Return all named policies, ordered by their first name."""
    return PolicyList(policies=_policies(_names("policy")))


def _profiles(digests: Iterable[str]) -> list[StoredProfile]:
    return [StoredProfile(**columns, profile=row.profile) for row, columns in _rows_with_columns("profile", digests)]


def _policies(digests: Iterable[str]) -> list[StoredPolicy]:
    return [StoredPolicy(**columns, policy=row.policy) for row, columns in _rows_with_columns("policy", digests)]


def _rows_with_columns(kind: Kind, digests: Iterable[str]) -> list[tuple[Any, dict[str, Any]]]:
    """Return rows with the columns that both views share, in order of their names."""
    digest_list = list(digests)
    names = _names(kind, digest_list)
    rows = _rows(kind).filter(digest__in=digest_list).annotate(used_by=Count("sessions"))
    pairs = [
        (
            row,
            {
                "digest": row.digest,
                "names": names.get(row.digest, []),
                "created_at": row.created_at,
                "used_by": row.used_by,
            },
        )
        for row in rows
    ]
    return sorted(pairs, key=lambda pair: (pair[1]["names"], pair[1]["digest"]))


def _names(kind: Kind, digests: Iterable[str] | None = None) -> dict[str, list[str]]:
    """Return the names by digest, in alphabetical order."""
    rows = DocumentName.objects.filter(kind=kind)
    if digests is not None:
        rows = rows.filter(digest__in=list(digests))
    names: dict[str, list[str]] = defaultdict(list)
    for digest, name in rows.order_by("name").values_list("digest", "name"):
        names[digest].append(name)
    return names


def _rows(kind: Kind) -> QuerySet[Any]:
    return OverrideProfile.objects.all() if kind == "profile" else ReplayPolicy.objects.all()
