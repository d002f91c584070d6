"""Comments in the browser: on a step, on a line of a diff by the keyboard, on its cause, and by a visitor."""

from playwright.sync_api import expect

from tests.browser.cockpit import Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo


def test_comment_on_a_step_is_deleted_and_restored(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(f"/runs/{demo.failed_run}?step=8")
    cockpit.button("Comment on step 8").click()
    field = cockpit.page.get_by_role("textbox", name="Comment on step 8")
    expect(field).to_be_focused()
    field.fill("Why **4200**?")
    field.press("Control+Enter")
    comment = cockpit.page.get_by_role("article", name="Comment by You")
    expect(comment.locator("strong")).to_have_text("4200")
    count = cockpit.page.get_by_role("article", name="Step 8").get_by_role("img", name="1 comment")
    expect(count).to_be_visible()
    cockpit.button("Delete your comment").click()
    expect(comment).to_have_count(0)
    cockpit.button("Undo").click()
    expect(comment).to_be_visible()
    cockpit.button("Resolve").click()
    expect(cockpit.button("Resolved: 1 comment by You")).to_be_visible()
    expect(count).to_have_count(0)


def test_visitor_replies_to_a_comment_on_a_line(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("diff"))
    difference = cockpit.page.get_by_role("group", name="Text difference").first
    difference.focus()
    difference.press("ArrowDown")
    cockpit.page.keyboard.press("Enter")
    _write(cockpit, "Comment on this line", "Is this needed?")
    cockpit.button("Comment on the cause").click()
    _write(cockpit, "Comment on the cause", "Add it to all desks.")

    terms = {"kind": "diff", "subject": demo.session["diff"], "allows_comments": True}
    token = demo.ask("/shares", terms)["url"].rpartition("/")[2]
    visitor = open_cockpit(f"/share/{token}", scheme="dark")
    cause = visitor.page.get_by_role("region", name="From cause to effect")
    expect(cause.locator("del").first).to_have_text("4200")
    expect(cause.locator("ins").first).to_contain_text("Order totals are in cents")
    cause.get_by_role("button", name="1 comment").click()
    expect(cause.get_by_role("article", name="Comment by The owner")).to_contain_text("Add it to all desks.")
    line = visitor.page.get_by_role("group", name="Text difference").first
    line.get_by_role("button", name="1 comment").click()
    line.get_by_role("button", name="Reply").click()
    line.get_by_label("Your name").fill("Vera")
    line.get_by_role("textbox", name="Reply").fill("It is.")
    line.get_by_role("textbox", name="Reply").press("Control+Enter")
    expect(line.get_by_role("article", name="Comment by You")).to_contain_text("It is.")
    expect(line.get_by_role("article", name="Comment by The owner")).to_be_visible()
    assert visitor.serious_accessibility_problems() == []

    expect(cockpit.page.get_by_role("article", name="Comment by Vera")).to_contain_text("visitor")
    assert cockpit.serious_accessibility_problems() == []


def _write(cockpit: Cockpit, field_name: str, text: str) -> None:
    field = cockpit.page.get_by_role("textbox", name=field_name)
    expect(field).to_be_focused()
    field.fill(text)
    field.press("Control+Enter")
    expect(cockpit.page.get_by_role("article", name="Comment by You").filter(has_text=text)).to_be_visible()


def test_double_click_creates_one_link(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("tree"))
    cockpit.button("Share").click()
    links = cockpit.dialog().get_by_role("listitem")
    create = cockpit.button("Create and copy link")
    expect(create).to_be_visible()
    before = len(demo.ask(f"/shares?kind=tree&subject={demo.failed_run}")["shares"])
    create.dblclick()
    expect(cockpit.page.get_by_label("Copy it now: it is not shown again")).to_be_visible()
    expect(links).to_have_count(before + 1)
