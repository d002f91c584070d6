"""How the requests of a running agent are matched with the calls of a recording. Pure."""
