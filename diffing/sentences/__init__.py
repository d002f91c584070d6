"""Every sentence of a report, written from typed facts. Pure."""
