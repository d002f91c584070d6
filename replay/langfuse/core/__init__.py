"""Events and schemas of an export. Pure."""
