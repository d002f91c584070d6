from cockpit.cli.client import split_lines


def test_lines_end_at_line_feeds_only() -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x1cf\r\ng\n\nh".encode()
    pieces = [text[start : start + 2] for start in range(0, len(text), 2)]
    assert list(split_lines(pieces)) == ["a\u2028b\u2029c\x85d\x0be\x1cf\r", "g", "", "h"]
