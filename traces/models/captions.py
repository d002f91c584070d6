"""Model of the words by which people recognise a run."""

from django.db import models

from traces.models.runs import Run


class RunCaption(models.Model):
    """The change of a fork, and the name, note and tags that users gave a run; not part of its immutable content."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="caption")
    change = models.JSONField(null=True, help_text="a `ForkChange`; null: not a fork, or not known")
    title = models.CharField(max_length=120, blank=True, help_text="shown before the recorded name")
    note = models.TextField(blank=True)
    tags = models.JSONField(null=True, help_text="all tags, edited by users; null: those of the recording")

    def __str__(self) -> str:
        return self.title
