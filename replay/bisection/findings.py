"""The findings of a bisection, read from its stored probes."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from replay.bisection.core.conclusion import Evidence
from replay.bisection.core.schemas import BisectRequest, ForkStep
from replay.bisection.core.search import Findings, Settings, Tally
from replay.core.vocabulary import BisectionStatus, ProbeVerdict
from replay.models import Bisection, BisectionProbe


def request_of(bisection: Bisection) -> BisectRequest:
    return BisectRequest.model_validate(bisection.request)


def settings_of(request: BisectRequest) -> Settings:
    return Settings(
        reproduce=request.reproduce,
        samples=request.samples,
        confirm=request.confirm,
        scan=request.scan,
        changed=bool(request.overrides.overrides),
    )


def forks_of(bisection: Bisection) -> list[ForkStep]:
    return [ForkStep(sequence_no=no, type=type, name=name) for no, type, name, _ in bisection.forks]


def findings_of(bisection: Bisection, settings: Settings, probes: Iterable[BisectionProbe]) -> Findings:
    """Tallies by place; with overrides, the repeats without them are counted separately."""
    places: dict[int | None, list[BisectionProbe]] = defaultdict(list)
    for probe in probes:
        places[probe.place if probe.changed == settings.changed else None].append(probe)
    tallies = {place: _tally(place_probes) for place, place_probes in places.items()}
    repeats = tallies.pop(None, Tally())
    return Findings(
        count=len(bisection.forks), repeats=repeats, places={place or 0: tally for place, tally in tallies.items()}
    )


def evidence_of(bisection: Bisection, probes: Iterable[BisectionProbe]) -> Evidence:
    settings = settings_of(request_of(bisection))
    return Evidence(
        forks=forks_of(bisection),
        findings=findings_of(bisection, settings, probes),
        settings=settings,
        is_final=bisection.status != BisectionStatus.RUNNING,
        stop_reason=bisection.error,
    )


def _tally(probes: Iterable[BisectionProbe]) -> Tally:
    members = list(probes)
    counts = Counter(ProbeVerdict(probe.verdict or ProbeVerdict.RUNNING) for probe in members)
    with_placeholders = Counter(probe.verdict for probe in members if probe.detail.get("assumed"))
    return Tally(
        passes=counts[ProbeVerdict.PASSED],
        failures=counts[ProbeVerdict.FAILED],
        unclear=counts[ProbeVerdict.UNCLEAR],
        running=counts[ProbeVerdict.RUNNING],
        placeholder_passes=with_placeholders[ProbeVerdict.PASSED],
        placeholder_failures=with_placeholders[ProbeVerdict.FAILED],
    )
