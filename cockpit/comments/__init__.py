"""REST API of comments, and what they are about: the steps of a run, or the places of a report."""
