"""Values that a detector found elsewhere in the run."""

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from traces.redaction.findings import Finding
from traces.redaction.literals import LiteralDetector

VALUES = st.sets(st.text("ab", min_size=6, max_size=70).map(str.encode), min_size=1, max_size=40)


@given(VALUES, st.data())
def test_longest_values_are_found_from_the_left(values: set[bytes], data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from([*sorted(values), b"a", b"b", b" "]), max_size=12))
    text = b"".join(pieces)
    longest_first = sorted(values, key=len, reverse=True)
    expression = b"|".join(longest_first)
    detector = LiteralDetector(dict.fromkeys(values, "key"))
    assert detector.findings(text, "") == [Finding(*match.span(), "key") for match in re.finditer(expression, text)]
    assert detector.suspects(text) is bool(re.search(expression, text))


def test_many_values_take_linear_time() -> None:
    detector = LiteralDetector({b"key-%d-%d" % (number * number % 9973, number): "key" for number in range(20_000)})
    text = b"key-123-9 key-77-" * 10_000
    start = time.thread_time()
    assert not detector.suspects(text)
    assert time.thread_time() - start < 1
