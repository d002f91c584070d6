"""Which step of one run pairs with which step of the other. Pure."""
