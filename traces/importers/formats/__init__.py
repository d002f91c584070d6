"""One module or a few for each format that can be imported. Pure."""
