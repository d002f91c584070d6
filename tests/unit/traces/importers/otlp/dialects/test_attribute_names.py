"""Names of attributes, each set of which is looked at once."""

import pytest

from traces.core.json_types import JSONObject
from traces.importers.otlp.dialects.attribute_names import names_of


def test_equal_names_share_what_is_known_of_them() -> None:
    names = names_of({"llm.system": "openai", "input.value": "Hi", "llm.tools.0.name": "find"})
    assert names is names_of({"llm.system": "anthropic", "input.value": "Bye", "llm.tools.0.name": "pay"})
    assert names.present["input.value", "absent", "llm.system"] == ("input.value", "llm.system")
    assert names.groups["llm."] == ("llm.system", "llm.tools.0.name")
    assert names.groups["lm."] == ()
    assert names.results(lambda name: name.partition(".")[0] * name.startswith("llm")) == {
        "llm.system": "llm",
        "llm.tools.0.name": "llm",
    }


@pytest.mark.parametrize(("count", "length"), [(1_000, 1), (5, 10_000)])
def test_many_and_long_names_are_not_remembered(count: int, length: int) -> None:
    attributes: JSONObject = {f"llm.tools.{index}.{'x' * length}": "find" for index in range(count)}
    assert names_of({**attributes}) is not names_of({**attributes})
    assert len(names_of({**attributes}).groups["llm.tools."]) == count
