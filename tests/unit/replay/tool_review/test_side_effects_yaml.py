"""Reading and writing Kurral's side_effects.yaml."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.core.errors import InvalidReplay
from replay.tool_review import side_effects_yaml
from replay.tool_review.side_effects_yaml import ToolFile

BOMB = "a: &a [0,0,0,0,0,0,0,0]\n" + "".join(
    f"{b}: &{b} [{f'*{a},' * 8}]\n" for a, b in itertools.pairwise("abcdefghi")
)
KURRAL = b"""
tools:
  send_email: false    # false = side effect (blocked), true = safe (allowed)
  tavily_search: true
done: false            # Must be set to true manually after review
"""


def test_kurral_file_is_read() -> None:
    assert side_effects_yaml.read(KURRAL) == ToolFile(
        tools={"send_email": False, "tavily_search": True}, is_reviewed=False
    )


@given(st.dictionaries(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()), st.booleans()))
def test_written_file_reads_back(tools: dict[str, bool]) -> None:
    assert side_effects_yaml.read(side_effects_yaml.write(tools, is_reviewed=True).encode()) == ToolFile(
        tools=tools, is_reviewed=True
    )
    reasons = dict.fromkeys(tools, "name contains “send”")
    assert (
        side_effects_yaml.read(side_effects_yaml.write(tools, is_reviewed=False, suggestions=reasons).encode()).tools
        == tools
    )


def test_suggestions_stay_on_comment_lines() -> None:
    tools = {"send_email": False, "x\ndone: true\u2028done: true": False}
    text = side_effects_yaml.write(tools, is_reviewed=False, suggestions=dict.fromkeys(tools, "name contains “send”"))
    assert "#   'send_email': name contains “send”\n" in text
    assert side_effects_yaml.read(text.encode()) == ToolFile(tools=tools, is_reviewed=False)


@pytest.mark.parametrize(
    ("text", "location", "says"),
    [
        ('tools: {send_email: "false"}\ndone: true', "/tools/send_email", "without quotes"),
        ("tools: {a: true}\ndone: 'true'", "/done", "without quotes"),
        ("tools: {a/b: 1}\ndone: true", "/tools/a~1b", "is 1"),
        ("tools: {a: null}\ndone: true", "/tools/a", "is null"),
        ("tools: {on: true}\ndone: true", "/tools/True", "in quotes"),
        ("tools: {a: true}", "/done", "missing"),
        ("tools: {a: true, a: false}\ndone: true", "", "occurs twice"),
        ("tools: {a: true}\ndone: true\nextra: 1", "/extra", "unknown"),
        ("tools: [a]\ndone: true", "/tools", "no `tools:`"),
        ("", "/tools", "no `tools:`"),
        ("a: [", "", "not YAML"),
        ("!!python/object/apply:os.system [id]", "", "not YAML"),
        ("[" * 5000, "", "not YAML"),
        ("tools: &a {b: *a}\ndone: true", "", "aliases are not allowed"),
        ("a: &a {b: true}\ntools: {<<: *a}\ndone: true", "", "aliases are not allowed"),
        ("tools: {<<: {b: true}}\ndone: true", "", "merge keys are not allowed"),
        (BOMB, "", "aliases are not allowed"),
    ],
)
def test_errors_name_their_location(text: str, location: str, says: str) -> None:
    with pytest.raises(InvalidReplay) as error_info:
        side_effects_yaml.read(text.encode())
    assert error_info.value.where == location
    assert says in str(error_info.value)


def test_binary_and_large_files_are_refused() -> None:
    for data in (b"\xff\xfe", b"#" * 2_000_000):
        with pytest.raises(InvalidReplay):
            side_effects_yaml.read(data)
