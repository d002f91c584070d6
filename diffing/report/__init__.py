"""The report as a document. Pure."""
