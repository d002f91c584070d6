"""Models of recordings."""

from traces.models.app_rules import IgnoreList, RedactionPolicy, ReducedSignature, ToolCall
from traces.models.artifacts import Artifact, ArtifactUse, LooseFile, Pack
from traces.models.captions import RunCaption
from traces.models.judgements import Judgement, OutcomeRule, RunOutcome
from traces.models.recordings import RecordAddress, Recording, RequestKey, Segment
from traces.models.retention import AuditEntry, Deletion, RetentionPolicy, RunMark
from traces.models.run_lists import RunListing, SavedView
from traces.models.runs import Edge, PendingProvenance, RetentionPass, Run, RunTag, Step
from traces.models.search import SearchDocument, UnindexedRun, UsageTotal
from traces.models.sharing import Comment, ShareLink

__all__ = [
    "Artifact",
    "ArtifactUse",
    "AuditEntry",
    "Comment",
    "Deletion",
    "Edge",
    "IgnoreList",
    "Judgement",
    "LooseFile",
    "OutcomeRule",
    "Pack",
    "PendingProvenance",
    "RecordAddress",
    "Recording",
    "RedactionPolicy",
    "ReducedSignature",
    "RequestKey",
    "RetentionPass",
    "RetentionPolicy",
    "Run",
    "RunCaption",
    "RunListing",
    "RunMark",
    "RunOutcome",
    "RunTag",
    "SavedView",
    "SearchDocument",
    "Segment",
    "ShareLink",
    "Step",
    "ToolCall",
    "UnindexedRun",
    "UsageTotal",
]
