"""Main user journeys from start to end."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests.browser.cockpit import Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.services.server import Server
from tests.support.patience import patience_ms

TRANSCRIPT = Path(__file__).resolve().parent.parent / "fixtures" / "importers" / "openai_messages.json"
CENTS = "Order totals are in cents, refunds are in euros: convert before you refund."


def _fork_with_another_prompt(cockpit: Cockpit, demo: Demo, addition: str) -> None:
    """Select the faulty model step, extend its system prompt, and launch the replay."""
    fork = demo.session["fork_sequence_no"]
    cockpit.go(f"/runs/{demo.failed_run}?step={fork}")
    cockpit.button("Fork from this step").click()
    prompt = cockpit.page.get_by_label("System prompt")
    expect(prompt).not_to_have_value("")
    prompt.fill(f"{prompt.input_value()}\n\n{addition}")
    plan = cockpit.page.get_by_role("region", name="Fork")
    expect(plan.get_by_role("status").filter(has_text="1 change, kept after the replay")).to_be_visible()
    cockpit.button(re.compile("^Replay")).click()
    cockpit.page.wait_for_url(re.compile("/replays/"))


def _share(cockpit: Cockpit) -> str:
    """Share what the page shows; return the path of the link."""
    cockpit.button("Share").click()
    expect(cockpit.button("Create and copy link")).to_be_focused()
    cockpit.page.keyboard.press("Enter")
    link = cockpit.page.get_by_label("Copy it now: it is not shown again").input_value()
    cockpit.page.keyboard.press("Escape")
    return link.removeprefix(cockpit.url)


@pytest.mark.usefixtures("demo")
def test_dropped_file_to_shared_report(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/")
    expect(cockpit.run_links().first).to_be_visible()

    cockpit.drop(TRANSCRIPT)
    dialog = cockpit.page.get_by_role("dialog")
    expect(dialog).to_contain_text("imported")
    dialog.get_by_role("button", name="Open the run").click()
    turns = cockpit.page.get_by_role("feed", name="Transcript").get_by_role("article")
    expect(turns.filter(has_text="find_book(").first).to_contain_text("asks for")
    turns.and_(cockpit.page.get_by_label(re.compile("tool find_book"))).first.get_by_role("link").click()
    expect(cockpit.page.get_by_label("Content of the step")).to_contain_text("Dune")

    _fork_with_another_prompt(cockpit, demo, f"{CENTS} Thank the customer.")
    state = cockpit.page.get_by_label("State of the replay")
    expect(state.get_by_role("status")).to_contain_text("Done", timeout=patience_ms(30_000))
    expect(state.get_by_role("heading", name="The answer changed")).to_be_visible()
    expect(state.get_by_role("group", name="Recorded answer")).to_contain_text("4200.00 EUR")
    expect(state.get_by_role("group", name="New answer")).to_contain_text("42.00 EUR")
    cockpit.page.get_by_role("link", name="What changed?").click()
    verdict = cockpit.page.get_by_label("Verdict")
    expect(verdict).to_contain_text(re.compile("prompt", re.I))

    stranger = open_cockpit(_share(cockpit))
    expect(stranger.page.get_by_label("Verdict")).to_contain_text(re.compile("prompt", re.I))
    expect(stranger.page.locator("a[href*='/runs/']")).to_have_count(0)
    cockpit.page.go_back()
    stranger.go(_share(cockpit))
    expect(stranger.page.get_by_label("New answer")).to_contain_text("42.00 EUR")
    stranger.page.get_by_role("link", name="Open the run").click()
    stranger.page.get_by_role("link", name="Step 8", exact=True).click()
    expect(stranger.page.get_by_label("Content of the step")).to_contain_text("damaged")
    expect(stranger.button(re.compile("Fork from|Judge|Compare"))).to_have_count(0)
    assert stranger.serious_accessibility_problems() == []


def test_unreadable_file_shows_its_reason(open_cockpit: OpenCockpit, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"messages": [')
    cockpit = open_cockpit("/")
    cockpit.drop(broken)
    dialog = cockpit.page.get_by_role("dialog")
    expect(dialog).to_contain_text("broken.json")
    expect(dialog.get_by_label("skipped")).to_be_visible()


def test_run_is_navigable_by_keyboard(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/")
    expect(cockpit.run_links().first).to_be_visible()
    keyboard = cockpit.page.keyboard
    keyboard.press("/")
    expect(cockpit.page.get_by_label("Search runs")).to_be_focused()
    keyboard.press("Escape")
    cockpit.go(f"/runs/{demo.failed_run}")
    expect(cockpit.page.get_by_role("article").first).to_be_visible()
    keyboard.press("j")
    keyboard.press("j")
    expect(cockpit.page).to_have_url(re.compile(r"step=\d"))
    keyboard.press("f")
    expect(cockpit.page.get_by_role("region", name="Fork")).to_be_visible()
    keyboard.press("Escape")
    expect(cockpit.page.get_by_role("region", name="Fork")).to_have_count(0)
    keyboard.press("?")
    expect(cockpit.page.get_by_role("dialog")).to_be_visible()
    keyboard.press("Escape")
    keyboard.press("Control+k")
    expect(cockpit.page.get_by_label("Search pages, actions and runs").first).to_be_visible()


def test_selected_step_is_always_in_view(open_cockpit: OpenCockpit, demo: Demo) -> None:
    # The page around the list scrolls, too.
    low: ViewportSize = {"width": 1440, "height": 300}
    page = open_cockpit(f"/runs/{demo.failed_run}?step=1&view=tree", viewport=low).page
    steps = page.get_by_role("tree", name="Steps of the run").get_by_role("treeitem")
    expect(steps).to_have_count(11)
    expect(steps.last).not_to_be_in_viewport()
    for number in range(2, 12):
        page.keyboard.press("j")
        expect(page).to_have_url(re.compile(f"step={number}&"))
    expect(steps.last).to_have_attribute("aria-selected", "true")
    expect(steps.last).to_be_in_viewport(ratio=1)


def test_timeline_zooms_and_graph_takes_the_full_width(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit(f"/runs/{demo.failed_run}").page
    page.get_by_role("tab", name="Timeline").click()
    expect(page).to_have_url(re.compile("view=timeline"))
    visible_range = page.get_by_label("Visible range")
    whole = visible_range.inner_text()
    page.keyboard.press("+")
    expect(visible_range).not_to_have_text(whole)
    page.keyboard.press("0")
    expect(visible_range).to_have_text(whole)
    lanes = page.get_by_role("listbox", name="Steps by time")
    box = lanes.bounding_box()
    assert box is not None
    right, top = box["x"] + box["width"], box["y"] + 40
    page.mouse.move(right - 120, top)
    page.mouse.down()
    page.mouse.move(right - 30, top + 60, steps=3)
    page.mouse.up()
    expect(visible_range).not_to_have_text(whole)
    # Steps that ended before the range are not listed, and the drag selected none.
    expect(lanes.get_by_role("option", name=re.compile("policies"))).to_have_count(0)
    expect(page).to_have_url(re.compile("view=timeline$"))
    page.mouse.dblclick(right - 60, top)
    expect(visible_range).to_have_text(whole)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    expect(visible_range).not_to_have_text(whole)

    page.get_by_role("tab", name="Graph").click()
    step = page.get_by_role("region", name=re.compile("^Step \\d"))
    expect(step).to_be_visible()
    page.get_by_role("button", name="Hide the step panel").click()
    expect(step).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Show the step panel")).to_be_visible()
    expect(step).to_have_count(0)
    page.keyboard.press("Escape")
    expect(step).to_be_visible()


def test_session_and_page_survive_a_killed_server(tmp_path: Path, browser: Browser) -> None:
    """The session completes after a restart without repeating finished live calls, and the open page goes on."""
    server = Server(tmp_path / "home")
    server.start()
    try:
        demo = Demo(server.url)
        cockpit = Cockpit(browser.new_page(), server.url)
        cockpit.go("/")
        rows = cockpit.run_links()
        expect(rows.first).to_be_visible()
        fork = {
            "run": demo.failed_run,
            "fork_step": demo.session["fork_sequence_no"],
            "overrides": {"overrides": [{"match": {"type": "model"}, "prompt": {"system": f"You refund. {CENTS}"}}]},
        }
        session = demo.ask("/replays", fork)
        server.kill()
        banner = cockpit.page.get_by_role("status").filter(has_text="Can’t reach the server")
        expect(banner).to_contain_text(re.compile(r"Retrying in \d s"))
        expect(banner).to_have_count(1)
        cockpit.page.get_by_role("link", name="Tools").click()
        expect(rows.first).to_be_visible()
        expect(cockpit.page.get_by_role("alert")).to_have_count(0)
        server.start()
        expect(cockpit.page.get_by_role("heading", name="Tools", exact=True)).to_be_visible()
        expect(banner).to_have_count(0)
        styles = "[...document.querySelectorAll('link[rel=stylesheet]')].every((link) => link.sheet !== null)"
        assert cockpit.page.evaluate(styles), "a style sheet is missing"
        result = demo.wait_for_end(session["id"])
        assert result["status"].startswith("completed"), result["error"]
        steps = demo.ask(f"/runs/{result['run']}/steps")["steps"]
        # The output step repeats the last answer with the same reason, but it is no call.
        model_steps = [step for step in steps if (step["type"], step["reason"]) == ("model", "live_model_call")]
        assert model_steps
        assert result["live_calls"] == len(model_steps)
        cockpit.page.context.close()
    finally:
        server.stop()


def test_tool_review_by_mouse_key_and_file(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit("/").page
    page.get_by_role("link", name="Tools").click()
    rows = page.locator("tbody tr")
    harmless = rows.filter(has=page.get_by_text("safe", exact=True)).first
    expect(harmless.get_by_role("button", name="Not reviewed")).to_have_attribute("aria-pressed", "true")
    name = harmless.get_by_role("rowheader").get_by_role("button").inner_text()
    decision = page.get_by_role("group", name=f"Decision about {name}")
    decision.get_by_role("button", name="Safe").click()
    expect(decision.get_by_role("button", name="Safe")).to_have_attribute("aria-pressed", "true")

    page.keyboard.press("/")
    page.keyboard.type(name)
    expect(rows).to_have_count(1)
    assert page.url.endswith(f"/tools?q={name}")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(decision.get_by_role("button", name="Side effect")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=name)).to_contain_text("side effect by local")
    page.keyboard.press("Escape")

    with page.expect_download() as download:
        page.get_by_role("link", name="Export YAML").click()
    text = download.value.path().read_text()
    assert f"{name}: false" in text
    changed = f"tools:\n  {name}: true\ndone: true\n".encode()
    page.locator("input[type=file]").set_input_files(
        {"name": "side_effects.yaml", "mimeType": "application/yaml", "buffer": changed}
    )
    expect(decision.get_by_role("button", name="Safe")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Undo").last.click()
    expect(decision.get_by_role("button", name="Side effect")).to_have_attribute("aria-pressed", "true")
    decision.get_by_role("button", name="Not reviewed").click()
    expect(decision.get_by_role("button", name="Not reviewed")).to_have_attribute("aria-pressed", "true")


def test_second_click_hits_same_tool(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit("/tools").page
    rows = page.locator("tbody tr")
    expect(rows.first).to_be_visible()
    before = rows.get_by_role("rowheader").all_inner_texts()
    risky_row = page.locator("tbody tr").filter(has=page.get_by_text("side effect", exact=True)).first
    name = risky_row.get_by_role("rowheader").get_by_role("button").inner_text()
    decision = page.get_by_role("group", name=f"Decision about {name}")
    spot = decision.get_by_role("button", name="Safe").bounding_box()
    assert spot is not None
    middle = (spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    page.mouse.click(*middle)
    page.get_by_role("dialog", name=f"Mark {name} as safe?").get_by_role("button", name="Mark as safe").click()
    expect(decision.get_by_role("button", name="Safe")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("dialog")).to_have_count(0)
    decisions = demo.ask("/tools")
    page.mouse.click(*middle)
    page.mouse.click(*middle)
    assert rows.get_by_role("rowheader").all_inner_texts() == before
    assert demo.ask("/tools") == decisions
    page.get_by_role("button", name="Undo").click()
    expect(decision.get_by_role("button", name="Not reviewed")).to_have_attribute("aria-pressed", "true")


def test_safe_suggestions_are_accepted_in_bulk(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit("/tools").page
    rows = page.locator("tbody tr")
    page.get_by_role("button", name=re.compile("^Accept . safe suggestions$")).click()
    dialog = page.get_by_role("dialog")
    names = dialog.get_by_role("listitem").get_by_role("checkbox").all()
    assert len(names) > 1
    expect(dialog).not_to_contain_text("send_email")
    names[0].uncheck()
    before = rows.get_by_role("rowheader").all_inner_texts()
    dialog.get_by_role("button", name=re.compile("^Mark . tools? as safe$")).click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    decisions = {tool["name"]: tool for tool in demo.ask("/tools")["tools"]}
    assert [tool["history"][0]["via"] for tool in decisions.values() if tool["safe"]] == ["suggestion"] * (
        len(names) - 1
    )
    assert rows.get_by_role("rowheader").all_inner_texts() == before
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name=f"Accept {len(names)} safe suggestions")).to_be_visible()

    for name in ("send_email", "get_order"):
        page.get_by_role("checkbox", name=f"Select {name}", exact=True).check()
    page.get_by_role("group", name="Decision about the selected tools").get_by_role("button", name="Safe").click()
    expect(page.get_by_role("dialog").get_by_role("listitem")).to_have_text(
        [re.compile("send_email.*Name contains “send”")]
    )
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert not any(tool["safe"] for tool in demo.ask("/tools")["tools"])


def test_fork_to_experiment_to_row_diff(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("fork"))
    page = cockpit.page
    page.get_by_role("link", name="Experiment…").click()
    page.wait_for_url(re.compile("/experiments/new"))
    cockpit.button("Add a prompt").click()
    prompt = page.get_by_label("Text of prompt 2")
    prompt.fill(f"{prompt.input_value()}\n\n{CENTS}")
    cockpit.button("Add a check").click()
    page.get_by_label("Value of check 1").fill("42.00 EUR")
    price = page.get_by_role("region", name="Estimated cost")
    grid = page.get_by_role("region", name="Grid")
    expect(grid).to_contain_text("4 combinations × 1 sample")
    expect(grid.get_by_role("row").filter(has_text="prompt 2").get_by_role("cell")).to_have_text(
        [re.compile(r"^\d calls$")] * 2
    )
    price.get_by_text("Run the agent").click()
    expect(price).to_contain_text("Starts of the agent")
    price.get_by_text("Follow the recording").click()
    expect(price).not_to_contain_text("Planning")
    cockpit.button(re.compile("^Start 4 replays")).click()
    expect(page.get_by_role("main").get_by_role("status").first).to_contain_text("Done", timeout=patience_ms(30_000))

    heat_map = page.get_by_role("table", name="Pass rate by prompt and model")
    unchanged_row = heat_map.get_by_role("row").filter(has=page.get_by_role("rowheader", name="as recorded"))
    cells = unchanged_row.get_by_role("cell")
    expect(cells).to_have_text([re.compile("^0 %.*0–79 %"), re.compile("^100 %.*21–100 %")])
    cells.first.get_by_role("button").click()
    combination = page.get_by_role("region", name="Combination")
    expect(combination).to_contain_text("0 of 1 passed")
    replays = combination.get_by_role("list", name="Replays").get_by_role("link")
    expect(replays).to_have_attribute("href", re.compile("^/diffs/"))

    results = page.get_by_role("region", name="Results")
    small = results.get_by_role("row").filter(has_text="desk-small-1")
    expect(small.filter(has_text="as recorded")).to_contain_text("0/1")
    expect(small.filter(has_text="prompt 2")).to_contain_text("1/1")
    stranger = open_cockpit(_share(cockpit)).page
    shared_results = stranger.get_by_role("region", name="Results")
    expect(shared_results.get_by_role("row").filter(has_text="desk-small-1")).to_have_count(2)
    expect(shared_results.get_by_role("checkbox")).to_have_count(0)
    expect(stranger.get_by_role("main").get_by_role("link")).to_have_count(0)
    with page.expect_download() as download:
        cockpit.button("Export").click()
        page.get_by_role("menuitem", name="CSV").click()
    assert "42.00 EUR" in download.value.path().read_text()
    for row in ("as recorded", "prompt 2"):
        small.filter(has_text=row).get_by_role("checkbox").check()
    cockpit.page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_label("Verdict")).to_contain_text(re.compile("prompt", re.I))


def test_fork_with_tools_links_to_review(open_cockpit: OpenCockpit, demo: Demo) -> None:
    fork = demo.session["fork_sequence_no"]
    cockpit = open_cockpit(f"/runs/{demo.failed_run}?step={fork}&fork={fork}")
    panel = cockpit.page.get_by_role("region", name="Fork")
    panel.get_by_text("Policy", exact=True).click()
    panel.get_by_role("switch", name="Reviewed tools may run").check()
    panel.get_by_text("Call again").click()
    expect(panel).to_contain_text("not reviewed: review")
    panel.get_by_role("link", name="Review tools").click()
    expect(cockpit.page.get_by_role("heading", name="Tools", exact=True)).to_be_visible()


def test_bisection_finds_the_point_of_no_return(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(f"/runs/{demo.failed_run}")
    cockpit.button(re.compile("^Actions of")).click()
    cockpit.page.get_by_role("menuitem", name=re.compile("Bisect")).click()
    dialog = cockpit.dialog()
    question = dialog.get_by_role("combobox", name="What does a good run pass?")
    expect(question).to_have_value("The app's outcome rule")
    expect(dialog).to_contain_text(re.compile(r"Starts of the agent\s*(about|up to) \d+"))
    question.click()
    cockpit.page.get_by_role("option", name="Your checks").click()
    dialog.get_by_label("Value of check 1").fill("42.00 EUR")
    dialog.get_by_label("Model for live answers").fill("desk-large-1")
    dialog.get_by_label("Samples per step").fill("1")
    dialog.get_by_role("button", name="Bisect").click()
    cockpit.page.wait_for_url(re.compile("/bisections/"))
    expect(cockpit.page.get_by_role("main").get_by_role("status")).to_contain_text("Done", timeout=patience_ms(60_000))
    verdict = cockpit.page.get_by_label("Verdict")
    expect(verdict.get_by_role("heading", name="Point of no return: step 7")).to_be_visible()
    tried_steps = cockpit.page.get_by_role("group", name="Tried steps, scrollable").get_by_role("listitem")
    expect(tried_steps.filter(has_text="Point of no return")).to_contain_text("step 7")
    expect(tried_steps.last).to_contain_text("recording")

    cockpit.go(f"/tree/{demo.failed_run}")
    rows = cockpit.page.get_by_role("group", name="Runs, scrollable")
    expect(rows.get_by_role("row").nth(2)).to_contain_text("from step")
    expect(rows.get_by_role("row").nth(2)).to_contain_text("I have refunded")
    expect(rows.get_by_role("img", name=re.compile(r"^from step \d+: \d+ exact")).first).to_be_visible()
    for number in (1, 2):
        rows.get_by_role("checkbox").nth(number).check()
    cockpit.page.get_by_role("link", name="Compare", exact=True).click()
    cockpit.page.wait_for_url(re.compile("/diffs/"))
    expect(cockpit.page.get_by_label("Verdict")).to_be_visible()
