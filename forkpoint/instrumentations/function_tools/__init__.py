"""Frameworks whose tools are functions behind a class: these ask before they run. Clients below record model calls."""
