"""Places worth a look in a failing run. Pure."""
