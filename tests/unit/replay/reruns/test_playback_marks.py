"""Pieces of a recorded stream whose values were renamed."""

from replay.reruns.core.playback import move_marks


def test_pieces_of_a_renamed_stream_begin_at_the_same_lines() -> None:
    old = b"data: /tmp/a\n\ndata: b\n\ndata: c\n\n"
    new = b"data: /tmp/longer\n\ndata: b\n\ndata: c\n\n"
    marks = [(0, 5), (old.index(b"data: b"), 70), (old.index(b"c\n"), 90)]
    assert move_marks(marks, old, new) == [(0, 5), (new.index(b"data: b"), 70), (new.index(b"data: c"), 90)]
