"""Branches of conversations: each with an answer of its own, at a cost that grows with the conversation."""

from traces.importers.formats.chats.message_branches import current_path, other_branches


def test_branch_of_a_branch_begins_where_it_leaves_it() -> None:
    parents = {"root": "", "now": "root", "old": "root", "first": "old", "second": "old", "unanswered": "old"}
    main = current_path(parents, "now")
    branches = other_branches(parents, main, {"now", "old", "first", "second"})
    assert [(branch.path, branch.fork, branch.shared_length) for branch in branches] == [
        (["root", "old", "first"], "old", 1),
        (["root", "old", "second"], "second", 2),
    ]


def test_many_branches_at_the_end_cost_no_more_than_their_messages() -> None:
    length = 20_000
    parents = {f"m{index}": f"m{index - 1}" for index in range(length)}
    parents |= {f"end{index}": f"m{length - 1}" for index in range(length)}
    # With the whole path of each branch, this needs minutes and gigabytes.
    branches = other_branches(parents, current_path(parents, "end0"), {*parents})
    assert (len(branches), branches[-1].fork, branches[-1].shared_length) == (length - 1, "end19999", length)
