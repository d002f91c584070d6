"""Tags of the report template."""
