"""The unchanged replay beside a diff."""
