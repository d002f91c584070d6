"""Tables for runners: programs on users' machines that start agents again, and what these agents print."""

from collections.abc import Collection

from django.db import models

from traces.core.ids import new_id


class Runner(models.Model):
    """A runner of one app. A runner that connects again has the same row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    app = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    command = models.JSONField(default=list, help_text="as shown: the runner runs nothing else, whatever it is sent")
    host = models.CharField(max_length=200, blank=True)
    capacity = models.PositiveSmallIntegerField(default=1, help_text="agents at once")
    tools_to_run = models.JSONField(default=list, help_text="tools that its user allowed though they have side effects")
    tools_to_ask = models.JSONField(default=list, help_text="patterns of tools whose calls an operator may let run")
    tools_with_hook = models.JSONField(default=list, help_text="tools that a hook in the agent intercepts")
    env_allow = models.JSONField(default=list, help_text="variables that a replay may set for the agent")
    network = models.CharField(
        max_length=2_000, blank=True, help_text="what its agents may reach, and by what it is enforced"
    )
    process = models.CharField(max_length=40, help_text="differs between two runners of the same name")
    connection = models.CharField(max_length=160, blank=True, help_text="the lease of its connection; empty: offline")
    last_seen_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=120, blank=True, help_text="whose token it has")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["app", "name"], name="runner_name"),)

    def __str__(self) -> str:
        return f"{self.name} of {self.app}"

    def allows(self, variables: Collection[str], tools: Collection[str] = ()) -> bool:
        """Return whether a replay may set these variables, and run these tools, which nothing intercepts."""
        return {*variables} <= {*self.env_allow} and {*tools} <= self.consents

    @property
    def consents(self) -> set[str]:
        """The tools with which its user lets agents start though no recording shows that they are intercepted."""
        return {*self.tools_to_run, *self.tools_with_hook}


class RunnerOutput(models.Model):
    """One line that an agent printed."""

    session = models.ForeignKey("replay.ReplaySession", models.CASCADE, related_name="output")
    attempt = models.PositiveSmallIntegerField(help_text="the start of the agent")
    no = models.PositiveIntegerField(help_text="from 1, in the order of arrival on both streams")
    stream = models.CharField(max_length=6)
    text = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "attempt", "no"], name="runner_output_line"),)

    def __str__(self) -> str:
        return f"{self.stream}: {self.text[:80]}"
