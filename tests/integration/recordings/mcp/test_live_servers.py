"""MCP servers that a rerun reaches over HTTP for calls that may run."""

from uuid import uuid4

import httpx2

from tests.integration.recordings.mcp.conftest import open_rerun
from tests.services.server import Server
from tests.support.gateway_runs import GatewaySession, get, post
from tests.support.mcp_desks import CLIENT, Desk, lookup, send
from tests.support.patience import wait_until


def test_each_client_has_its_own_session_with_a_server(server: Server, desk: Desk, run: str) -> None:
    rerun = open_rerun(server, run, ask_tools=[], allow_tools=["lookup"])
    address = f"{server.url}{rerun['path']}/mcp/desk"
    clients = [send(address, "initialize", CLIENT).headers["mcp-session-id"] for _ in range(2)]
    for client in [*clients, clients[0]]:
        assert "found by mcp" in lookup(address, uuid4().hex, client).text
    first, second, third = desk.sessions()[-3:]
    assert (first == third, first == second) == (True, False)
    httpx2.delete(address, headers={"mcp-session-id": clients[1]}, trust_env=False)
    wait_until(lambda: lookup(desk.url, "7", second).status_code == 404, 30)
    post(server, f"/api/v1/reruns/{rerun['id']}/end", {"exit_code": 0})
    wait_until(lambda: lookup(desk.url, "7", first).status_code == 404, 30)


def test_server_that_is_away_is_away_in_the_rerun(server: Server) -> None:
    """Its clients see an HTTP status and no result of the tool."""
    session = post(server, "/api/v1/gateway/sessions", {"app": "desk"})
    recorded = lookup(f"{server.url}{session['path']}/mcp/away", "7")
    assert (recorded.status_code, "did not answer" in recorded.text) == (502, True)
    httpx2.post(
        f"{server.url}/api/v1/gateway/sessions/{session['session']}/end", json={"exit_code": 0}, trust_env=False
    )
    GatewaySession(server, "", session["run"]).summary()
    wait_until(lambda: get(server, f"/runs/{session['run']}")["sealed"], 30)
    rerun = open_rerun(server, session["run"], ask_tools=[], allow_tools=["lookup"])
    address = f"{server.url}{rerun['path']}/mcp/away"
    for order in ("7", "8"):
        again = lookup(address, order)
        assert (again.status_code, again.json()["error"]) == (502, recorded.json()["error"])
    [tool] = get(server, f"/reruns/{rerun['id']}")["tools"]
    assert (tool["name"], tool["exact"], tool["run"]) == ("lookup", 1, 1)
