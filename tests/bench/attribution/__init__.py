"""The benchmark of attribution: known causes, known chance, real recordings, labelled failures, known edits."""
