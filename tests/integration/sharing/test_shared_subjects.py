"""Links to runs, trees, replays, reports and experiments over REST: each shows its subject and nothing else."""

import csv
import io
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.core.signing import TimestampSigner
from django.test import Client
from django.urls import URLPattern
from pytest_django import Settings

from cockpit.sharing import urls
from replay.experiments.core.schemas import ExperimentRequest
from replay.models import Experiment, ExperimentRow, ReplaySession
from tests.integration.retention.test_deletion import delete, pass_grace
from tests.support.proofs import fork_and_diff, no_queue, post
from tests.support.recordings import order_run
from traces.core.ids import new_id
from traces.models import AuditEntry, Run, ShareLink, Step
from traces.retention import purge
from traces.runs import services
from traces.sharing import links

__all__ = ["no_queue"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
SOURCE_TEXT = "northwind"
OTHERS = ("/replays/", "/diffs/", "/experiments/")
KINDS = ("run", "tree", "replay", "diff", "experiment")
PATHS = {"run": "runs", "replay": "replays", "diff": "diffs", "tree": "runs", "experiment": "experiments"}


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


@dataclass(frozen=True, kw_only=True)
class World:
    """A recorded run, its fork, their report, an experiment with the fork alone, and a run beside them."""

    source: UUID
    fork: UUID
    session: UUID
    diff: UUID
    experiment: UUID
    other: UUID

    def subject(self, kind: str) -> UUID:
        return {
            "run": self.fork,
            "tree": self.source,
            "replay": self.session,
            "diff": self.diff,
            "experiment": self.experiment,
        }[kind]


@pytest.fixture
def world(client: Client, no_queue: list[tuple[str, str]]) -> World:
    source = services.record(order_run()).run_id
    diff = fork_and_diff(client, no_queue, source, 3, {"match": {"step": 3}, "tool": {"output": "unknown order"}})
    fork = Run.objects.get(source_run=source).id
    session = ReplaySession.objects.get(run=fork).id
    return World(
        source=source,
        fork=fork,
        session=session,
        diff=UUID(diff),
        experiment=_experiment(source, session),
        other=services.record(order_run("order-2")).run_id,
    )


def _experiment(source: UUID, session: UUID) -> UUID:
    # An axis may have the name of a column.
    axis = {"name": "status", "values": [{"name": "as recorded"}]}
    request = ExperimentRequest(run=str(source), fork_step=3, axes=[axis]).model_dump(mode="json")
    experiment = Experiment.objects.create(
        source_run_id=source, fork_sequence_no=3, request=request, parallel=1, last_seq=1
    )
    ExperimentRow.objects.create(
        experiment=experiment,
        number=1,
        cell=1,
        sample=1,
        session_id=session,
        seq=1,
        result={"answer": "=unknown order", "checks": []},
    )
    return experiment.id


def share(kind: str, subject: UUID, **terms: Any) -> str:
    """The token of a new link."""
    response = post(Client(), "/shares", {"kind": kind, "subject": str(subject), **terms})
    assert response.status_code == 201, response.content
    return str(response.json()["url"].rpartition("/share/")[2])


class Reader:
    """A browser without an account that opened a link."""

    def __init__(self, token: str) -> None:
        self._path = f"/api/v1/share/{token}"
        self._headers = {"X-Share-Ticket": Client().get(f"{self._path}/ticket").json()["ticket"]}

    def get(self, path: str = "") -> Any:
        return Client().get(self._path + path, headers=self._headers)


@pytest.mark.parametrize("kind", KINDS)
def test_link_shows_its_subject_to_strangers(world: World, settings: Settings, kind: str) -> None:
    token = share(kind, world.subject(kind), max_views=2)
    settings.LOGIN_REQUIRED = True
    answer = Client().get(f"/api/v1/share/{token}")
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "private, no-store"
    assert (answer["X-Robots-Tag"], answer["Referrer-Policy"]) == ("noindex, nofollow", "no-referrer")
    reader = Reader(token)
    end = "/tree" if kind == "tree" else ""
    for _ in range(3):
        shown = reader.get(f"/{PATHS[kind]}/{world.subject(kind)}{end}")
        assert (shown.status_code, shown["Cache-Control"]) == (200, "private, no-store")
        assert shown.json() == answer.json()
    assert ShareLink.objects.get().views == 2
    assert Client().get(f"/api/v1/share/{token}").status_code == 404


def test_run_link_reads_steps_and_payloads(world: World) -> None:
    reader = Reader(share("run", world.fork))
    steps = reader.get(f"/runs/{world.fork}/steps").json()["steps"]
    assert [step["sequence_no"] for step in steps] == [*range(1, len(steps) + 1)]
    details = [reader.get(f"/steps/{step['id']}").json() for step in steps]
    assert "unknown order" in str(details)
    matches = reader.get(f"/runs/{world.fork}/steps?q=unknown").json()["steps"]
    assert 0 < len(matches) < len(steps)
    assert "unknown order" in str(reader.get(f"/runs/{world.fork}/transcript").json()["steps"])
    assert reader.get(f"/runs/{world.fork}/edges").json()["edges"]
    assert reader.get(f"/runs/{world.fork}/usage").json()["total"]["calls"]


def test_replay_link_reads_what_the_replay_wrote(world: World) -> None:
    reader = Reader(share("replay", world.session))
    session = reader.get(f"/replays/{world.session}").json()
    assert (session["run"], session["source_name"] != "", session["diff"]) == (str(world.fork), True, None)
    assert reader.get(f"/runs/{world.fork}/steps").json()["steps"]
    assert reader.get(f"/runs/{world.source}/steps").status_code == 404


def paths_with(run: UUID, step: UUID, session: UUID, diff: UUID, experiment: UUID) -> list[str]:
    """The address of every endpoint behind a ticket, with these ids."""
    patterns = [pattern.pattern for pattern in urls.urlpatterns if isinstance(pattern, URLPattern)]
    routes = [str(pattern).partition("<str:token>")[2] for pattern in patterns if "<str:token>" in str(pattern)]
    ids = {"/runs/": run, "/steps/": step, "/replays/": session, "/diffs/": diff, "/experiments/": experiment}
    return [
        route.replace("<uuid:id>", str(next(id for start, id in ids.items() if route.startswith(start))))
        for route in routes
        # `test_shared_comments` tests those of comments.
        if "<uuid:id>" in route and not route.startswith("/comments/")
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_link_reads_no_other_subject(world: World, kind: str) -> None:
    reader = Reader(share(kind, world.subject(kind)))
    steps = {run: Step.objects.filter(run=run).first() for run in (world.source, world.fork, world.other)}
    own_runs = {"run": {world.fork}, "replay": {world.fork}}.get(kind, set())
    for run, step in steps.items():
        assert step is not None
        for path in paths_with(run, step.id, new_id(), new_id(), new_id()):
            is_own = run in own_runs and not path.endswith("/tree")
            is_own_tree = kind == "tree" and path == f"/runs/{world.source}/tree"
            is_readable = (is_own or is_own_tree) and not path.startswith(OTHERS)
            assert reader.get(path).status_code == (200 if is_readable else 404), path
    for path in paths_with(world.fork, new_id(), world.session, world.diff, world.experiment):
        if path.startswith(OTHERS):
            is_own = str(world.subject(kind)) in path
            assert reader.get(path).status_code == (200 if is_own else 404), path


def test_every_endpoint_behind_a_token_is_known() -> None:
    """A new endpoint belongs into the table of docs/sharing.md, and into the tests of this module."""
    assert sorted(paths_with(*[UUID(int=0)] * 5)) == sorted(
        f"/{path}".format(id=UUID(int=0))
        for path in (
            "diffs/{id}",
            "experiments/{id}",
            "replays/{id}",
            "runs/{id}",
            "runs/{id}/edges",
            "runs/{id}/steps",
            "runs/{id}/transcript",
            "runs/{id}/tree",
            "runs/{id}/usage",
            "steps/{id}",
        )
    )
    docs = (Path(__file__).parents[3] / "docs" / "sharing.md").read_text()
    assert all(f"`{path.replace(str(UUID(int=0)), '{id}')}`" in docs for path in paths_with(*[UUID(int=0)] * 5))


def test_ticket_opens_nothing_else(world: World, settings: Settings) -> None:
    token, other = share("run", world.fork), share("run", world.other)
    ticket = Client().get(f"/api/v1/share/{token}/ticket").json()["ticket"]
    settings.LOGIN_REQUIRED = True
    stranger = Client(headers={"X-Share-Ticket": ticket, "Authorization": f"Bearer {token}"})
    artifact = Step.objects.filter(run=world.fork).exclude(output_ref="").values_list("output_ref", flat=True)[0]
    closed = (
        "runs",
        "tools",
        "settings",
        "activity",
        "artifacts/" + artifact,
        f"runs/{world.fork}",
        f"runs/{world.fork}/places",
        f"runs/{world.fork}/judgements",
        f"shares?kind=run&subject={world.fork}",
    )
    assert {stranger.get(f"/api/v1/{path}").status_code for path in closed} == {401}
    for path in ("/artifacts/" + artifact, f"/runs/{world.fork}/places", f"/runs/{world.fork}/judgements", "/runs"):
        assert stranger.get(f"/api/v1/share/{token}{path}").status_code == 404
    assert stranger.get(f"/api/v1/share/{other}/runs/{world.other}").status_code == 404
    assert Client().get(f"/api/v1/share/{token}/runs/{world.fork}").status_code == 404
    forged = TimestampSigner(key="guess", salt="forkpoint.share").sign(str(ShareLink.objects.first()))
    answer = Client().get(f"/api/v1/share/{token}/runs/{world.fork}", headers={"X-Share-Ticket": forged})
    assert answer.status_code == 404


def test_ticket_ends_with_its_link(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    token = share("run", world.fork, expires_in_s=60)
    reader, path = Reader(token), f"/runs/{world.fork}"
    assert reader.get(path).status_code == 200
    ShareLink.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert reader.get(path).status_code == 404
    ShareLink.objects.update(expires_at=None)
    monkeypatch.setattr(links, "TICKET_LIFETIME", timedelta(seconds=-1))
    assert reader.get(path).status_code == 404
    monkeypatch.undo()
    links.revoke_link(ShareLink.objects.get().id, by="ada")
    assert reader.get(path).status_code == 404


def test_guessed_tickets_are_throttled(world: World) -> None:
    token = share("run", world.fork)
    path = f"/api/v1/share/{token}/runs/{world.fork}"
    statuses = [Client().get(path, headers={"X-Share-Ticket": "guess"}).status_code for _ in range(121)]
    assert (statuses[119], statuses[120]) == (404, 429)


def test_shared_fork_names_only_the_title_of_its_source(world: World) -> None:
    post(Client(), "/diffs", {"base": str(world.source), "candidate": str(world.other)})
    shown = Reader(share("run", world.fork)).get(f"/runs/{world.fork}").json()
    assert (shown["source_run_name"], shown["source_answer"], shown["source_outcome"]) == (
        "Where is A-1042?",
        None,
        None,
    )
    assert (shown["derived"], shown["revisions"], shown["session_id"]) == ([], [], None)
    source = Reader(share("run", world.source)).get(f"/runs/{world.source}").json()
    assert source["derived"] == []


def test_shared_tree_has_no_links_to_replays(world: World) -> None:
    reader = Reader(share("tree", world.fork))
    root, fork = reader.get(f"/runs/{world.source}/tree").json()["runs"]
    assert (root["id"], fork["id"]) == (str(world.source), str(world.fork))
    assert (fork["session"], fork["diff"], fork["change"]["count"]) == (None, None, 1)


def test_shared_experiment_has_no_links_and_no_words_of_deleted_runs(world: World, client: Client) -> None:
    reader = Reader(share("experiment", world.experiment))
    [row] = reader.get(f"/experiments/{world.experiment}").json()["results"]
    assert (row["answer"], row["run"], row["diff"]) == ("=unknown order", None, None)
    delete(client, world.fork, cited="true")
    [row] = reader.get(f"/experiments/{world.experiment}").json()["results"]
    assert (row["answer"], row["checks"]) == ("", None)
    pass_grace()
    purge.remove_due()
    shown = reader.get(f"/experiments/{world.experiment}").json()
    assert (shown["results"], shown["samples"]) == ([], 0)


def test_experiment_is_a_table(world: World, client: Client) -> None:
    answer = client.get(f"/api/v1/experiments/{world.experiment}.csv", headers={"Accept": "text/csv"})
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/csv; charset=utf-8")
    [row] = csv.DictReader(io.StringIO(answer.content.decode()))
    assert (row["number"], row["answer"], row["run"]) == ("1", "'=unknown order", str(world.fork))
    assert (row["axis: status"], row["status"]) == ("as recorded", "completed_simulated")
    assert client.get(f"/api/v1/experiments/{new_id()}.csv").status_code == 404


def test_deletion_closes_links_until_restored(world: World, client: Client) -> None:
    # What does not open counts no view, so those that are left still open the restored subjects.
    tokens = {kind: share(kind, world.subject(kind), max_views=3 if kind == "run" else 2) for kind in KINDS}
    readers = {kind: Reader(token) for kind, token in tokens.items()}
    assert delete(client, world.source, cited="true").status_code == 200
    statuses = {kind: client.get(f"/api/v1/share/{token}").status_code for kind, token in tokens.items()}
    assert statuses == {"run": 200, "tree": 404, "replay": 404, "diff": 404, "experiment": 404}
    assert readers["diff"].get(f"/diffs/{world.diff}").status_code == 404
    shown = readers["run"].get(f"/runs/{world.fork}").json()
    assert (shown["source_run_name"], shown["change"]) == (None, None)
    post(client, f"/runs/{world.source}/restore")
    assert {client.get(f"/api/v1/share/{token}").status_code for token in tokens.values()} == {200}
    delete(client, world.source, cited="true")
    pass_grace()
    assert purge.remove_due().runs == 1
    assert [link.kind for link in ShareLink.objects.all()] == ["run", "replay"]
    delete(client, world.fork, cited="true", at_once="true")
    assert not ShareLink.objects.exists()
    assert {client.get(f"/api/v1/share/{token}").status_code for token in tokens.values()} == {404}


def test_creation_and_revocation_are_logged(world: World, client: Client) -> None:
    share("run", world.fork, audience="signed_in")
    link = ShareLink.objects.get()
    for _ in range(2):
        client.delete(f"/api/v1/shares/{link.id}")
    entries = AuditEntry.objects.filter(subject=str(world.fork)).order_by("id")
    assert [(entry.action, entry.by, entry.detail["link"]) for entry in entries] == [
        ("share_created", "local", str(link.id)),
        ("share_revoked", "local", str(link.id)),
    ]
    [listed] = client.get(f"/api/v1/shares?kind=run&subject={world.fork}").json()["shares"]
    assert (listed["kind"], listed["subject"], listed["diff"], listed["opens"]) == ("run", str(world.fork), None, False)
    assert client.get(f"/api/v1/shares?kind=tree&subject={world.fork}").json()["shares"] == []


def test_only_complete_subjects_are_shared(world: World, client: Client) -> None:
    ReplaySession.objects.filter(id=world.session).update(status="running")
    for kind in ("replay", "experiment"):
        body = {"kind": kind, "subject": str(world.subject(kind))}
        assert post(client, "/shares", body).status_code == 409
    for kind in KINDS:
        assert post(client, "/shares", {"kind": kind, "subject": str(new_id())}).status_code == 404
    assert client.get("/api/v1/shares?kind=song&subject=x").status_code == 400
    assert client.get("/api/v1/shares?kind=run&subject=x").status_code == 400


def test_previews_count_and_name_nothing(world: World, client: Client, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<head><title>Forkpoint</title></head>")
    settings.FRONTEND_DIST = tmp_path
    titles = {
        "run": "Agent run",
        "tree": "1 fork of an agent run",
        "replay": "Replay: unknown → unknown",
        "diff": "Unknown → unknown: what changed and why",
        "experiment": "Experiment: 1 combination of settings",
    }
    for kind, title in titles.items():
        token = share(kind, world.subject(kind))
        page = client.get(f"/share/{token}/{kind}").content.decode()
        assert f'og:title" content="{title}"' in page
        assert "A-1042" not in page
        assert SOURCE_TEXT not in page
    delete(client, world.fork, cited="true")
    assert "Agent run" not in client.get(f"/share/{share('run', world.other)}x").content.decode()
