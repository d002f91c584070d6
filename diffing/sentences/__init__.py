"""Every sentence of a report about its cause, written from typed facts. Pure."""
