from django.urls import path

from traces.audit import api as audit_api
from traces.collectors import events_api, sessions_api
from traces.imports import api as imports_api
from traces.judgements import rules_api
from traces.redaction_policies import api as redaction_api
from traces.retention import api as retention_api
from traces.retention import policies_api
from traces.run_lists import api as run_lists_api
from traces.run_lists import saved_views_api
from traces.runs import api, judgements_api, usage
from traces.runs.steps import full_steps
from traces.totals import api as totals_api
from traces.transcripts import api as transcripts_api

urlpatterns = [
    path("runs", events_api.RunsView.as_view()),
    path("runs/facets", run_lists_api.RunFacetsView.as_view()),
    path("runs/tags", retention_api.RunTagsView.as_view()),
    path("runs/delete", retention_api.RunDeletionsView.as_view()),
    path("run-views", saved_views_api.SavedViewsView.as_view()),
    path("run-views/<uuid:id>", saved_views_api.SavedViewDetailView.as_view()),
    path("failed-steps", run_lists_api.FailedStepsView.as_view()),
    path("usage", totals_api.UsageReportView.as_view()),
    path("runs/export", imports_api.RunsExportView.as_view()),
    path("runs/import", imports_api.ImportView.as_view()),
    path("events", events_api.EventsView.as_view()),
    path("krabs/events", sessions_api.KrabsEventsView.as_view()),
    path("session-files/<str:kind>/<str:session>", sessions_api.SessionFileView.as_view()),
    path("runs/<str:id>/events", events_api.RunEventsView.as_view()),
    path("runs/<str:id>/finalize", events_api.FinalizeView.as_view()),
    path("runs/<str:id>", retention_api.RunView.as_view()),
    path("runs/<str:id>/deletion", retention_api.RunDeletionView.as_view()),
    path("runs/<str:id>/restore", retention_api.RunRestoreView.as_view()),
    path("runs/<str:id>/citations", retention_api.CitationsView.as_view()),
    path("runs/<str:id>/steps", api.StepListView.as_view()),
    path("runs/<str:id>/edges", api.EdgeListView.as_view()),
    path("runs/<str:id>/transcript", transcripts_api.TranscriptView.as_view()),
    path("runs/<str:id>/usage", usage.UsageView.as_view()),
    path("runs/<str:id>/full-steps", full_steps.FullStepsView.as_view()),
    path("runs/<str:id>/judgements", judgements_api.JudgementsView.as_view()),
    path("runs/<str:id>/judgements/<str:judgement>", judgements_api.JudgementDetailView.as_view()),
    path("runs/<str:id>/steps/<str:step>", api.RunStepView.as_view()),
    path("steps/<str:id>", api.StepView.as_view()),
    path("artifacts/<str:sha256>", api.ArtifactView.as_view()),
    path("redirects/traces/<path:trace>", api.TraceRedirectView.as_view()),
    path("redirects/spans/<path:span>", api.SpanRedirectView.as_view()),
    path("outcome-rules/<path:app>", rules_api.OutcomeRuleDetailView.as_view()),
    path("judgement-names", rules_api.JudgementNamesView.as_view()),
    path("redaction-policies", redaction_api.RedactionPoliciesView.as_view()),
    path("redaction-policies/history", redaction_api.RedactionHistoryView.as_view()),
    path("redaction-policies/try", redaction_api.RedactionTrialEndpoint.as_view()),
    path("runs/<str:id>/mark", policies_api.MarkEndpoint.as_view()),
    path("retention/policies", policies_api.RetentionPoliciesView.as_view()),
    path("retention/plan", policies_api.PurgePlanEndpoint.as_view()),
    path("retention/purge", policies_api.PurgeEndpoint.as_view()),
    path("audit", audit_api.AuditView.as_view()),
    path("bundles/export", imports_api.BundleExportView.as_view()),
    path("bundles/import", imports_api.BundleImportView.as_view()),
]
