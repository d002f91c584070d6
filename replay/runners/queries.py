"""Read runners, and what their agents printed."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Now

from replay.core.vocabulary import Engine, SessionStatus
from replay.models import ReplaySession, Rerun, Runner, RunnerOutput
from replay.runners.errors import NoRunner, ToolRefusal, VariableRefusal
from replay.runners.schemas import OutputLine, OutputView, RunnerList, RunnerView
from replay.tool_review.queries import safety_by_tool
from traces.core.json_access import as_objects, as_text
from traces.core.json_types import JSONObject

# Seconds between two beats of a connection. One that misses three is lost.
BEAT_S: Final = 5.0
_MOST: Final = 200
_LAST_RERUNS: Final = 50


def runners(app: str | None) -> RunnerList:
    """List the runners of an app or of all, first those that are online."""
    rows = Runner.objects.all() if app is None else Runner.objects.filter(app=app)
    rows = rows.annotate(
        is_online=_online(),
        busy=Count("sessions", filter=Q(sessions__status=SessionStatus.RUNNING)),
    ).order_by("-is_online", "app", "name")
    return RunnerList(
        runners=[
            RunnerView(
                id=row.id,
                app=row.app,
                name=row.name,
                command=row.command,
                host=row.host,
                allowed_tools=row.tools_to_run,
                hook_tools=row.tools_with_hook,
                env_allow=row.env_allow,
                network=row.network,
                state="online" if row.is_online else "offline",
                capacity=row.capacity,
                busy=row.busy if row.is_online else 0,
                last_seen_at=row.last_seen_at,
            )
            for row in rows[:_MOST]
        ]
    )


def online(app: str) -> QuerySet[Runner]:
    """Return the runners of an app that are connected."""
    return Runner.objects.filter(_online(), app=app)


def consents(app: str) -> list[set[str]]:
    """Return for which tools the user of each runner of an app has consented."""
    return [runner.consents for runner in _possible(app)]


def hooked_tools(app: str) -> set[str]:
    """Return the tools that a hook intercepts in the agents of an app, as the users of its runners say."""
    return {name for runner in _possible(app) for name in runner.tools_with_hook}


def _possible(app: str) -> list[Runner]:
    """Return the runners that count: where none is online, those that were, because a session waits for one of them."""
    return [*online(app)] or [*Runner.objects.filter(app=app)]


def tools_to_allow(plan: JSONObject, held_back_tools: Sequence[str] = ()) -> list[str]:
    """Return the tools of a session that its runner has to allow: those that are not reviewed as safe by now.

    `held_back_tools` are those that the model called besides the tools of the plan.
    """
    planned_names = [as_text(tool.get("name")) for tool in as_objects(plan.get("unintercepted_tools"))]
    names = [*dict.fromkeys([*planned_names, *held_back_tools])]
    reviews = safety_by_tool() if names else {}
    return [name for name in names if reviews.get(name) is not True]


def require_online(app: str, variables: Collection[str] = (), tools: Collection[str] = ()) -> None:
    """Raise `NoRunner` unless a runner of the app is connected, or that none allows all variables, or all tools."""
    runners = [*online(app)]
    if not runners:
        raise NoRunner(app)
    if not any(runner.allows(variables) for runner in runners):
        raise VariableRefusal(app, variables)
    if not any(runner.allows(variables, tools) for runner in runners):
        raise ToolRefusal(app, tools)


def missing_runner(sessions: QuerySet[ReplaySession]) -> str:
    """Return which runner sessions wait for, and how to start it; empty if none waits, or one is online."""
    waiting_sessions = sessions.filter(
        engine=Engine.AGENT,
        status__in=(SessionStatus.PENDING, SessionStatus.AWAITING_OPERATOR),
        cancel_requested=False,
        question__isnull=True,
    )
    # The one that is started next.
    needs = ("source_run__app", "variables", "plan", "held_back_tools")
    for app, variables, plan, held_back_tools in waiting_sessions.order_by("created_at").values_list(*needs)[:1]:
        try:
            require_online(app, variables, tools_to_allow(plan, held_back_tools))
        except (NoRunner, VariableRefusal, ToolRefusal) as refusal:
            return refusal.detail
    return ""


def hosts(app: str) -> list[str]:
    """Return the hosts outside the gateway that the agents of an app asked for in their last reruns."""
    reruns = Rerun.objects.filter(source_run__app=app).exclude(hosts=[]).order_by("-created_at")
    names = reruns.values_list("hosts", flat=True)[:_LAST_RERUNS]
    return [*dict.fromkeys(host for hosts in names for host in hosts)]


def output(session: ReplaySession) -> OutputView:
    """Return what the agent of a session printed, over all of its starts."""
    lines = RunnerOutput.objects.filter(session=session).order_by("attempt", "no")
    counts = lines.order_by().values_list("attempt").annotate(Count("no"), Max("no"))
    return OutputView(
        lines=[OutputLine.model_validate({"stream": row.stream, "text": row.text, "at": row.at}) for row in lines],
        exit_code=None if session.rerun is None else session.rerun.exit_code,
        truncated=any(count < last for _, count, last in counts),
    )


def _online() -> Q:
    """Select connected runners. Both times are those of the database's clock."""
    return ~Q(connection="") & Q(last_seen_at__gt=Now() - timedelta(seconds=3 * BEAT_S))
