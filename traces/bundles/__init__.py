"""The file format of portable runs. Pure."""
