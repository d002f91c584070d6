"""Tests with real client libraries, each in a throw-away environment (`make test-clients`)."""

import pytest

pytest.register_assert_rewrite("tests.clients.checks")
