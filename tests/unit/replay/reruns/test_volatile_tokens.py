"""Volatile values in the forms in which programs write them, and values that look similar but mean something."""

import random
import string
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from replay.reruns.core.comparison import first_difference
from replay.reruns.core.renaming import Renaming, Trial
from replay.reruns.core.volatile_values.volatile_tokens import tokens

TIMES = st.integers(1_420_070_400, 4_070_908_800).map(lambda second: datetime.fromtimestamp(second, UTC))
FORMATS = (
    "%c %x %X %D %r %R %T",
    "%A, %B %d, %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%A, %d-%b-%y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S UTC %Y",
    "%d/%b/%Y:%H:%M:%S %z",
    "%m/%d/%Y",
    "%-m/%-d/%y",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%d-%m-%Y",
    "%Y/%m/%d",
    "%B %d",
    "%b %-d, %Y at %-I:%M %p",
    "%I:%M:%S %p",
    "%H:%M",
    "%B %Y",
    "%Y%m%dT%H%M%SZ",
    "run_%Y%m%d_%H%M%S",
    "%Y-%m-%d_%H-%M-%S",
    "%Y-%m-%dT%H:%M:%S.%f%z",
    "%Y年%m月%d日",
    "%G-W%V",
)
ALPHABETS = {
    "ULID": ("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
    "KSUID": (string.ascii_letters + string.digits, 27),
    "hex in capitals": ("0123456789ABCDEF", 32),
    "cuid": (string.ascii_lowercase + string.digits, 24),
}


def is_same(old: str, new: str) -> bool:
    return first_difference(old, new, Trial(Renaming())) is None


@pytest.mark.parametrize("form", FORMATS)
@given(times=st.tuples(TIMES, TIMES), words=st.tuples(st.sampled_from(["pay 42", "pay 43"]), st.just("pay 42")))
def test_times_of_one_form_are_the_same_and_nothing_else_is(
    form: str, times: tuple[datetime, datetime], words: tuple[str, str]
) -> None:
    old, new = (f"Now {time.strftime(form)}; {word}." for time, word in zip(times, words, strict=True))
    assert is_same(old, new) == (words[0] == words[1])


@given(old=TIMES, new=TIMES, forms=st.permutations(["%d %B %Y", "%B %d, %Y", "%d.%m.%Y", "%m/%d/%Y", "%I:%M %p", "%T"]))
def test_times_of_two_forms_differ(old: datetime, new: datetime, forms: list[str]) -> None:
    assert not is_same(old.strftime(forms[0]), new.strftime(forms[1]))


@pytest.mark.parametrize("kind", ALPHABETS)
@given(seed=st.integers(0, 2**32))
def test_generated_ids_are_the_same(kind: str, seed: int) -> None:
    alphabet, length = ALPHABETS[kind]
    generator = random.Random(seed)
    old, new = ("".join(generator.choices(alphabet, k=length)) for _ in range(2))
    # By chance, a value may look as if a person had made it.
    assume(all(any(map(str.isdigit, value[:6])) and any(map(str.isalpha, value[:6])) for value in (old, new)))
    assert is_same(f"id {old}", f"id {new}")
    edited = ("0" if old[0] != "0" else "1") + old[1:]
    assert not is_same(f"id {old}", f"id {edited}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("http://[::1]:40001/x", "http://[::1]:50002/x"),
        ("listens on 0.0.0.0:40001", "listens on 0.0.0.0:50002"),
        ("<Desk object at 0x7f4c23666790>", "<Desk object at 0x7f1103a0b010>"),
        ("V1StGXR8_Z5jdHi6B-myT", "Uakgb_J5m9g-0JDMbcJqL"),
        ("/tmp/a/deep/dir/tmpab12cd34/out", "/tmp/a/deep/dir/tmpzz98yx7_/out"),
        ("/tmp/pytest-of-root/pytest-1/test_a0/x.txt", "/tmp/pytest-of-root/pytest-2/test_a0/x.txt"),
        ("/tmp/a/agent-k3j2h1x9/f.txt", "/tmp/a/agent-z8w7q6v5/f.txt"),
        ("/scratch/ada/tmpab12cd34/x", "/scratch/ada/tmpqq98zz11/x"),
        ("/tmp/a/2026-11-28/x", "/tmp/a/2026-11-29/x"),
        ("28 de noviembre de 2026", "1 de diciembre de 2026"),
        ("28. Dezember", "1. Januar"),
        ("28-NOV-26", "01-DEC-26"),
        ("28th of November, 2026", "1st of December, 2026"),
        ("closes at 6:53 p.m. EST", "closes at 11:02 a.m. EDT"),
    ],
)
def test_other_forms(old: str, new: str) -> None:
    assert is_same(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/tmp/a/order-17.txt", "/tmp/a/order-18.txt"),
        ("/tmp/tmpab12cd/v1beta1", "/tmp/tmpab12cd/v1beta2"),
        ("/tmp/a/report.txt", "/tmp/a/invoice.txt"),
        ("/tmp/jobs/1/out", "/tmp/jobs/2/out"),
        ("flight BA2490", "flight BA2491"),
        ("customer DE123456", "customer BE998877"),
        ("DE89370400440532013000", "DE12500105170648489890"),
        ("GB29NWBK60161331926819", "GB94BARC10201530093459"),
        ("blue-widget-2-large-x", "blue-widget-3-large-x"),
        ("version 1.12.24", "version 1.12.25"),
        ("version 10.11.12", "version 10.12.12"),
        ("host db-production01", "host db-production02"),
        ("report_revenue2023", "report_revenue2024"),
        ("user-admin12345", "user-guest12345"),
        ("invoice-A123456789", "invoice-A987654321"),
        ("order_abc1234567", "order_abc1234568"),
        ("part 12345a", "part 12345b"),
        ("item abc123", "item abc124"),
        ("/tmp/report1.csv", "/tmp/report2.csv"),
        ("host 10.12.24.5", "host 10.11.23.5"),
        ("10.0.0.1:8080", "10.0.0.1:9090"),
        ("pay 20251201", "pay 20261201"),
        ("verse 3:16", "verse 4:17"),
        ("on Monday", "on Friday"),
        ("call 555-1234", "call 555-9999"),
        ("00:1a:2b:3c:4d:5e", "00:1a:2b:3c:4d:5f"),
    ],
)
def test_values_that_mean_something_differ(old: str, new: str) -> None:
    assert not is_same(old, new)


@given(st.text(alphabet=string.printable, max_size=80) | st.from_regex(r"(/tmp/[\w./-]{0,20}|[0-9A-Fx:./ -]){1,6}"))
def test_tokens_are_the_text(text: str) -> None:
    assert "".join(token.text for token in tokens(text)) == text
    assert is_same(text, text)
