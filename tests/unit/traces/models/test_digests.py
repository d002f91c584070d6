"""Digests as columns."""

import pytest

from traces.core.canonical import digest_bytes
from traces.models.digests import digest_key, digest_keys, split_digests

FIRST, SECOND = digest_bytes(b"first"), digest_bytes(b"second")


@pytest.mark.parametrize(
    "digests",
    [
        [],
        [FIRST, SECOND],
        [FIRST, "no digest"],
        # Together they have the right length.
        [FIRST + SECOND[:1], SECOND[1:]],
        # `bytes.fromhex` skips spaces.
        [f"{FIRST[:-2]}  ", SECOND],
    ],
)
def test_keys_of_many_digests_are_those_of_each(digests: list[str]) -> None:
    assert digest_keys(digests) == [digest_key(digest) for digest in digests]


def test_text_of_digests_is_split() -> None:
    assert split_digests("") == []
    assert split_digests(FIRST + SECOND) == [digest_key(FIRST), digest_key(SECOND)]


@pytest.mark.parametrize("text", [FIRST[:-1], f"{FIRST[:-2]}  ", "x" * 64, FIRST + SECOND[:-2]])
def test_other_text_is_not_split(text: str) -> None:
    with pytest.raises(ValueError, match=r"digests|hexadecimal"):
        split_digests(text)
