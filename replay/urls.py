"""URL routes of replays under /api/v1."""

from django.urls import path

from replay.activity import api as activity
from replay.bisection import api as bisecting
from replay.calibration import api as calibration
from replay.control_replays import api as lanes
from replay.experiments import api as experiments
from replay.fork_tree import api as tree
from replay.hook_reports import api as hooks
from replay.inspection import api as inspection
from replay.langfuse import api as langfuse
from replay.proofs import api as proving
from replay.runners import api as runners
from replay.saved_profiles import api as library
from replay.saved_profiles import json_schemas_api
from replay.sessions import api
from replay.snippets import api as snippets
from replay.tool_review import api as tool_review_api
from replay.trials import api as trials

urlpatterns = [
    path("activity", activity.ActivityView.as_view()),
    path("activity/authors", activity.AuthorsView.as_view()),
    path("replays/preview", api.PreviewView.as_view()),
    path("replays", api.SessionsView.as_view()),
    path("replays/<str:id>", api.SessionDetailView.as_view()),
    path("replays/<str:id>/cancel", api.CancelView.as_view()),
    path("replays/<str:id>/answer", api.AnswerView.as_view()),
    path("experiments/preview", experiments.ExperimentPreviewView.as_view()),
    path("experiments", experiments.ExperimentsView.as_view()),
    path("experiments/<str:id>.csv", experiments.ExperimentTableView.as_view()),
    path("experiments/<str:id>", experiments.ExperimentDetailView.as_view()),
    path("experiments/<str:id>/cancel", experiments.ExperimentCancelView.as_view()),
    path("bisections/preview", bisecting.BisectPreviewView.as_view()),
    path("bisections", bisecting.BisectionsView.as_view()),
    path("bisections/<str:id>", bisecting.BisectionDetailView.as_view()),
    path("bisections/<str:id>/cancel", bisecting.BisectionCancelView.as_view()),
    path("runs/<str:id>/places", inspection.RunPlacesView.as_view()),
    path("runs/<str:id>/tree", tree.RunTreeView.as_view()),
    path("runs/<str:id>/bisect", bisecting.BisectRunView.as_view()),
    path("runs/<str:id>/calibrate", calibration.CalibrateRunView.as_view()),
    path("diffs/<uuid:id>/unchanged", lanes.UnchangedReplayView.as_view()),
    path("diffs/<uuid:id>/bisect", bisecting.BisectDiffView.as_view()),
    path("diffs/<uuid:id>/prove", proving.ProveView.as_view()),
    path("diffs/<uuid:id>/prove/preview", proving.ProvePreviewView.as_view()),
    path("diffs/<uuid:id>/proofs", proving.ProofsView.as_view()),
    path("proofs/<str:id>", proving.ProofDetailView.as_view()),
    path("proofs/<str:id>/cancel", proving.ProofCancelView.as_view()),
    path("replays/<str:id>/messages", api.MessagesView.as_view()),
    path("replays/<str:id>/attempts", api.AttemptsView.as_view()),
    path("replays/<str:id>/output", api.OutputsView.as_view()),
    path("runners", runners.RunnersView.as_view()),
    path("replays/<str:id>/hooks", hooks.SessionHooksView.as_view()),
    path("hooks", hooks.HooksView.as_view()),
    path("runs/<str:id>/exports", langfuse.ExportsView.as_view()),
    path("runs/<str:id>/exports/langfuse", langfuse.LangfuseView.as_view()),
    path("calibrations", calibration.CalibrationsView.as_view()),
    path("calibrations/by-agent/<str:id>", calibration.AgentCalibrationDetailView.as_view()),
    path("calibrations/<str:id>", calibration.CalibrationDetailView.as_view()),
    path("calibrations/<str:id>/accept", calibration.AcceptView.as_view()),
    path("ignore-lists", calibration.IgnoreListsView.as_view()),
    path("profiles", library.ProfilesView.as_view()),
    path("profiles/<str:ref>", library.ProfileView.as_view()),
    path("policies", library.PoliciesView.as_view()),
    path("policies/<str:ref>", library.PolicyView.as_view()),
    path("schemas/<str:name>.json", json_schemas_api.SchemaView.as_view()),
    path("steps/<str:id>/snippets", snippets.StepSnippetsView.as_view()),
    path("providers", api.ProvidersView.as_view()),
    path("tools", tool_review_api.ToolsView.as_view()),
    path("tools.yaml", tool_review_api.ToolFileView.as_view()),
    path("tools/trials", trials.ToolTrialsView.as_view()),
    path("retrievers", trials.RetrieversView.as_view()),
    path("retrievers/trials", trials.RetrieverTrialsView.as_view()),
    path("trials", trials.TrialsView.as_view()),
    path("trials/<str:id>", trials.TrialDetailView.as_view()),
]
