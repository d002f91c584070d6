"""What tells a run from others: the change of a fork, its answer, and the name and the note that users gave it."""
