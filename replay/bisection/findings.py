"""What the probes of a bisection say together, from the database."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from replay.bisection.core.conclusion import Told
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
    """Tallies by place; the repeats without overrides apart, where there are overrides."""
    places: dict[int | None, list[BisectionProbe]] = defaultdict(list)
    for probe in probes:
        places[probe.place if probe.changed == settings.changed else None].append(probe)
    tallies = {place: _tally(of_place) for place, of_place in places.items()}
    repeats = tallies.pop(None, Tally())
    return Findings(
        count=len(bisection.forks), repeats=repeats, places={place or 0: tally for place, tally in tallies.items()}
    )


def told_of(bisection: Bisection, probes: Iterable[BisectionProbe]) -> Told:
    settings = settings_of(request_of(bisection))
    return Told(
        forks=forks_of(bisection),
        found=findings_of(bisection, settings, probes),
        settings=settings,
        over=bisection.status != BisectionStatus.RUNNING,
        stopped=bisection.error,
    )


def _tally(probes: Iterable[BisectionProbe]) -> Tally:
    listed = list(probes)
    counts = Counter(ProbeVerdict(probe.verdict or ProbeVerdict.RUNNING) for probe in listed)
    guessed = Counter(probe.verdict for probe in listed if probe.detail.get("assumed"))
    return Tally(
        passed=counts[ProbeVerdict.PASSED],
        failed=counts[ProbeVerdict.FAILED],
        unclear=counts[ProbeVerdict.UNCLEAR],
        running=counts[ProbeVerdict.RUNNING],
        assumed=guessed[ProbeVerdict.PASSED],
        doubtful=guessed[ProbeVerdict.FAILED],
    )
