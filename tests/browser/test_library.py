"""Saved profiles, refusals at their entries, and calibration in the browser."""

import json
import re
import urllib.request

from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.services.server import Server

PROMPT = "You are the order desk. Totals are in cents. Answer kindly."


def test_saved_profile_is_loaded_and_shown(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("fork"))
    page = cockpit.page
    page.get_by_role("textbox", name=re.compile("system prompt", re.I)).first.fill(PROMPT)
    page.get_by_role("button", name="Save as profile").click()
    cockpit.dialog().get_by_role("textbox", name="Name").fill("Kind")
    expect(page.get_by_text("Use lower-case letters")).to_be_visible()
    page.get_by_role("textbox", name="Name").fill("kind")
    page.get_by_role("button", name="Save", exact=True).click()
    panel = page.get_by_role("region", name="Fork", exact=True)
    expect(panel.get_by_title("These match the saved profile kind")).to_be_visible()
    panel.get_by_role("button", name=re.compile("^Remove:")).first.click()
    expect(panel.get_by_title("These match the saved profile kind")).to_be_hidden()
    panel.get_by_role("button", name="Load profile").click()
    page.get_by_role("menuitem", name=re.compile("kind")).click()
    expect(panel.get_by_title("These match the saved profile kind")).to_be_visible()
    panel.get_by_role("button", name=re.compile("^Replay")).click()
    expect(page.get_by_text("profile kind")).to_be_visible()


def test_unfit_profile_is_refused_at_its_entry(open_cockpit: OpenCockpit, demo: Demo) -> None:
    entries = [{"match": {"step": 999}, "output": "never"}]
    demo.ask("/profiles", {"name": "elsewhere", "profile": {"overrides": entries}})
    demo.ask("/policies", {"name": "torn", "policy": {"allow": [], "order": "reexecute"}})
    page = open_cockpit(demo.path("fork")).page
    panel = page.get_by_role("region", name="Fork", exact=True)
    panel.get_by_role("button", name="Load profile").click()
    page.get_by_role("menuitem", name=re.compile("elsewhere")).click()
    chips = panel.get_by_role("list", name="Overrides")
    expect(chips.get_by_text(re.compile("no step from the fork on matches", re.I))).to_be_visible()
    panel.get_by_text("Policy", exact=True).click()
    panel.get_by_role("button", name="Load policy").click()
    page.get_by_role("menuitem", name=re.compile("torn")).click()
    expect(panel.get_by_text(re.compile("makes calls again, but allows no live calls"))).to_be_visible()
    expect(panel.get_by_role("button", name=re.compile("^Replay"))).to_have_attribute("aria-disabled", "true")


def test_calibration_proposes_fields_to_ignore(open_cockpit: OpenCockpit, demo: Demo, server: Server) -> None:
    runs = [post_run(server, name, trace) for name, trace in (("first", "0b6e1c1e"), ("second", "9f0d2a34"))]
    calibration = demo.ask("/calibrations", {"base": runs[0], "candidate": runs[1]})
    cockpit = open_cockpit(f"/calibrations/{calibration['id']}")
    page = cockpit.page
    expect(page.get_by_role("heading", level=1)).to_contain_text("calibrating")
    expect(page.get_by_role("checkbox", name=re.compile("trace_id of tool find"))).to_be_checked()
    assert cockpit.serious_accessibility_problems() == []
    page.get_by_role("button", name=re.compile("^Ignore \\d field")).click()
    current = page.get_by_role("region", name=re.compile("^Ignore list 1"))
    expect(current.get_by_text("active")).to_be_visible()
    current.get_by_role("button", name=re.compile("^Stop ignoring .*trace_id of tool find")).click()
    expect(page.get_by_role("region", name=re.compile("^Ignore list 2"))).to_be_visible()


def post_run(server: Server, name: str, trace: str) -> str:
    arguments = json.dumps({"trace_id": f"{trace}-5d3f-4e0a-9a51-7b0f7a1d2c3e"})
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": arguments}}
    talk = [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "Here it is."},
    ]
    url = f"{server.url}/api/v1/runs/import?filename={name}.json&app=calibrating"
    request = urllib.request.Request(url, json.dumps(talk).encode(), {"Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request) as answer:
        return str(json.loads(answer.read())["runs"][0]["id"])
