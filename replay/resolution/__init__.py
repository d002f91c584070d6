"""Which answer a call gets, and under which label. Pure."""
