"""Pieces of a recorded stream whose values were renamed."""

import orjson

from replay.reruns.core.playback import move_marks, rename_body
from replay.reruns.core.renaming import Renaming


def test_pieces_of_a_renamed_stream_begin_at_the_same_lines() -> None:
    old = b"data: /tmp/a\n\ndata: b\n\ndata: c\n\n"
    new = b"data: /tmp/longer\n\ndata: b\n\ndata: c\n\n"
    marks = [(0, 5), (old.index(b"data: b"), 70), (old.index(b"c\n"), 90)]
    assert move_marks(marks, old, new) == [(0, 5), (new.index(b"data: b"), 70), (new.index(b"data: c"), 90)]


def test_values_in_lines_of_json_are_renamed_across_pieces() -> None:
    old, new = "2026-11-28", "2026-11-29"
    renaming = Renaming.from_pairs([("date", old, new)])
    pieces = [b'{"message":{"content":"On 2026-"},"done":false}', b'{"message":{"content":"11-28."},"done":true}']
    body = rename_body(b"\n".join([*pieces, b""]), renaming)
    texts = [orjson.loads(line)["message"]["content"] for line in body.splitlines()]
    assert "".join(texts) == "On 2026-11-29."
    assert rename_body(b'not JSON {"a":\n', renaming) == b'not JSON {"a":\n'
