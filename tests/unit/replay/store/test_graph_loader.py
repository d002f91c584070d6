"""What is read of a stored run."""

from replay.store.graph_loader import unexplained_content


def test_inputs_that_nobody_looked_into_are_of_unknown_origin() -> None:
    """Null is what runs of earlier versions have: that is not the same as nothing unexplained."""
    [item] = unexplained_content(4, "ab12", None)
    assert (item.path, item.first_step) == ("", 4)
    assert unexplained_content(4, "ab12", []) == ()
    assert unexplained_content(4, "", None) == ()
