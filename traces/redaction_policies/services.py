"""Store versions of redaction policies, and build the redaction of an app from them."""

from collections.abc import Iterable, Sequence

import structlog
from django.db import IntegrityError, transaction

from traces.audit import audit_log
from traces.core.vocabulary import AuditAction
from traces.models import RedactionPolicy
from traces.redaction import personal_data
from traces.redaction.encoded_secrets import encoded_secret_detector
from traces.redaction.findings import Detector
from traces.redaction.markers import Digester
from traces.redaction.policy import Policy, PolicyContent, combine
from traces.redaction.redactor import Redaction
from traces.redaction.secrets import secret_detector
from traces.redaction_policies.key import redaction_key
from traces.storage import bulk

ALL_APPS = ""
logger = structlog.get_logger("traces")


class RedactionByApp(dict[str, Redaction]):
    """Redactions by app, each built when it is first needed: policies are read once per batch."""

    def __missing__(self, app: str) -> Redaction:
        self[app] = redaction_of(app)
        return self[app]


def redaction_of(app: str) -> Redaction:
    """Return what applies to the runs of an app."""
    return build(policy_of(app))


def build(policy: Policy) -> Redaction:
    """Return a policy with its detectors and the key of this installation."""
    detectors: list[Detector] = [secret_detector(), encoded_secret_detector()] if policy.secrets else []
    if policy.personal_data:
        detectors.append(personal_data.detector(policy.personal_data))
    return Redaction(policy=policy, detectors=tuple(detectors), digester=Digester(redaction_key()))


def policy_of(app: str) -> Policy:
    """Return the policy of an app: that of all apps together with its own."""
    rows = newest_versions([ALL_APPS, app])
    return combine(content_of(row) for row in sorted(rows, key=lambda row: row.app))


def newest_versions(apps: Iterable[str] | None = None) -> list[RedactionPolicy]:
    """Return the newest version of each app's policy, by app."""
    names = None if apps is None else [*set(apps)]
    condition = "" if names is None else f"WHERE app IN ({', '.join(['%s'] * len(names))})"
    # Two plain queries, the second of which hardly any server needs: Django takes longer to build one with a subquery,
    # and every request that arrives needs the first.
    rows = bulk.select(RedactionPolicy, ("app", "id"), f"{condition} ORDER BY id", names or [])
    newest_ids = {app: id for app, id in rows}  # noqa: C416 - a row is a sequence of any length
    return list(RedactionPolicy.objects.filter(id__in=newest_ids.values()).order_by("app")) if newest_ids else []


def versions(app: str) -> Sequence[RedactionPolicy]:
    """Return all versions of an app's policy, newest first."""
    return list(RedactionPolicy.objects.filter(app=app).order_by("-version"))


def content_of(row: RedactionPolicy) -> PolicyContent:
    return PolicyContent.model_validate(row.content)


def set_policy(app: str, content: PolicyContent, *, by: str) -> RedactionPolicy:
    """Store the next version of an app's policy. Equal content returns the current version."""
    document = content.model_dump(mode="json")
    while True:
        newest = RedactionPolicy.objects.filter(app=app).order_by("-version").first()
        if newest is not None and newest.content == document:
            return newest
        version = 1 + (newest.version if newest else 0)
        try:
            with transaction.atomic():
                row = RedactionPolicy.objects.create(app=app, version=version, content=document, by=by)
                audit_log.append(AuditAction.REDACTION_POLICY_SET, app or "all apps", by=by, version=version)
        except IntegrityError:  # another writer was faster
            continue
        logger.info("redaction_policy_set", app=app, version=version, by=by)
        return row
