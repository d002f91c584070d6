"""Secret detector: recall on the shapes of many vendors, and nothing in ordinary texts."""

import marshal
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.redactions import secrets
from traces.redaction.findings import merge
from traces.redaction.secret_rules import SecretRule, secret_rules
from traces.redaction.secrets import is_credential_name, secret_detector

_FRAMES = (
    "{}",
    "please use {} for this",
    "line\n{}\nnext",
    'key="{}"',
    "({}),",
    'it printed {{"out": "x\\n{}"}}',
    "https://example.com/?a=1 {} 2",
)
_ORDINARY = (
    "I forgot my password: how do I reset it? The secret: patience.",
    "Order A-1042 of 2026-03-01T12:00:00Z, commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id 123e4567-e89b-12d3-a456-426614174000 and sha256 " + "9f86d081884c7d659a2feaa0c55ad015" * 2,
    "token counts: prompt_tokens=1520, completion_tokens: 80, next_page_token=CAUQAA",
    "basic information, bearer of news, https://user@example.com/path?x=1:2@3",
    "sk-learn and risk-free, task-42, disk-0123",
    "fp_rate, fp_" + "b" * 44 + " and gsk_" + "a" * 50,
    'the schema {"password": {"type": "string"}}, api_key: <your key>, secret=${SECRET}',
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 40,
)


def texts(value: str, name: str = "") -> list[str]:
    data = value.encode()
    return [data[item.start : item.end].decode() for item in merge(secret_detector().findings(data, name), [])]


@pytest.mark.parametrize("vendor", sorted(secrets()))
def test_vendor_secret_is_found_in_any_frame(vendor: str) -> None:
    for seed in range(3):
        secret = secrets(seed)[vendor]
        for frame in _FRAMES:
            text = frame.format(secret)
            assert secret_detector().suspects(marshal.dumps({"note": text}, 2)), frame
            rest = text
            for found in texts(text):
                rest = rest.replace(found, "")
            assert secret.rpartition("/")[2].removeprefix("AccountKey=") not in rest, frame


def test_first_look_begins_no_long_match_at_every_letter() -> None:
    # At each character of a random id, an expression would begin another match, and remember all of them.
    for rule in secret_rules():
        beginning = (rule.hint or rule.pattern).removeprefix("(?P<value>")
        assert not re.match(r"\[[^]]*(?:a-z|0-9)[^]]*\]\{\d", beginning), rule.kind


@pytest.mark.parametrize("rule", [rule for rule in secret_rules() if rule.hint], ids=lambda rule: rule.kind)
@given(data=st.data())
@settings(max_examples=50)
def test_first_look_notices_all_that_a_rule_matches(rule: SecretRule, data: st.DataObject) -> None:
    pattern = re.compile(rule.pattern.replace(r"\z", r"\Z"))  # RE2 and Python name the end of a text differently.
    text = data.draw(st.from_regex(pattern))
    assert re.search(rule.hint, text), text


@pytest.mark.parametrize("text", _ORDINARY)
def test_ordinary_text_contains_no_secret(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://app:s3cr3t-pw@db.internal/orders", "s3cr3t-pw"),
        ("Authorization: Bearer abcDEF123456ghiJKL", "abcDEF123456ghiJKL"),
        ("curl -H 'authorization: Basic dXNlcjpwYXNzd29yZA=='", "dXNlcjpwYXNzd29yZA=="),
        (
            "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY7a12345678",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCY7a12345678",
        ),
        ("password=correct4horse;", "correct4horse"),
        ('{"client_secret": "9f8s7df98s7df9"}', "9f8s7df98s7df9"),
        ('{\\"api_key\\": \\"9f8s7df98s7df9\\"}', "9f8s7df98s7df9"),
        ("mail.api.key=9f8s7df98s7df9", "9f8s7df98s7df9"),
    ],
)
def test_context_gives_a_credential_away(text: str, secret: str) -> None:
    assert texts(text) == [secret]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("password", "tiger-lily", ["tiger-lily"]),
        ("clientSecret", "9f8s7df98s7df9", ["9f8s7df98s7df9"]),
        ("X-Api-Key", "9f8s7df98s7df9", ["9f8s7df98s7df9"]),
        ("mail.api.key", "9f8s7df98s7df9", ["9f8s7df98s7df9"]),
        ("Authorization", "Bearer 9f8s7df98s7", ["9f8s7df98s7"]),
        ("password", "string", []),
        ("password", "", []),
        ("secret", "what nobody knows 1", []),
        ("token", "Hello1234", []),
        ("next_page_token", "CAUQAA1234", []),
    ],
)
def test_member_name_gives_a_credential_away(name: str, value: str, expected: list[str]) -> None:
    assert texts(value, name) == expected
    if expected:
        assert secret_detector().suspects(marshal.dumps({name: value}, 2))


def test_long_hostile_text_is_scanned_in_linear_time() -> None:
    text = ("eyJ" * 50_000 + "-----BEGIN PRIVATE KEY-----" * 2_000).encode()
    assert len(secret_detector().findings(text, "")) <= 2_000


def test_name_with_words_after_it_is_no_credential() -> None:
    assert not is_credential_name("secretary")
    assert not is_credential_name("password_hint_count")
