"""Loading of replay graphs."""

from replay.store.graph_loader import unexplained_content


def test_unanalysed_inputs_are_unexplained() -> None:
    """Null, from runs of earlier versions, differs from an empty list of unexplained content."""
    [item] = unexplained_content(4, "ab12", None)
    assert (item.path, item.first_step) == ("", 4)
    assert unexplained_content(4, "ab12", []) == ()
    assert unexplained_content(4, "", None) == ()
