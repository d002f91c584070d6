"""Requests to servers of the tests, all of which are on this machine."""

from typing import Final

import httpx2

# One for all tests: each new client reads all certificate authorities, which takes more time than most requests. A
# connection is not used again, because tests kill servers and start them anew at the same address.
HTTP: Final = httpx2.Client(trust_env=False, verify=False, limits=httpx2.Limits(max_keepalive_connections=0))
