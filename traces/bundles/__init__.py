"""File format of portable runs. Pure."""
