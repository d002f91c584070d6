"""Personal-data detector: Presidio's pattern recognizers, an extra that is installed separately."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from traces.redaction.findings import Finding
from traces.redaction.policy import PersonalData

EXTRA: Final = "pii"
_LIBRARY: Final = "presidio_analyzer"
# Presidio's recognizer, its entity and the lowest score that counts, by kind.
_RECOGNIZERS: Final = {
    PersonalData.EMAIL: ("EmailRecognizer", "EMAIL_ADDRESS", 0.5),
    PersonalData.PHONE: ("PhoneRecognizer", "PHONE_NUMBER", 0.4),
    PersonalData.CREDIT_CARD: ("CreditCardRecognizer", "CREDIT_CARD", 0.5),
    PersonalData.IBAN: ("IbanRecognizer", "IBAN_CODE", 0.5),
    PersonalData.IP_ADDRESS: ("IpRecognizer", "IP_ADDRESS", 0.5),
    PersonalData.US_SSN: ("UsSsnRecognizer", "US_SSN", 0.5),
}
# Every kind contains an @, a dot or colon between digits, or five digits, perhaps with separators.
_HINT: Final = re.compile(rb"@|[0-9a-fA-F][.:][0-9a-fA-F:]|(?:[0-9][ ().+-]{0,3}){5}")


class LibraryMissing(RuntimeError):
    """The library for personal data is not installed."""

    def __init__(self) -> None:
        super().__init__(f"personal data is only detected with the extra: pip install 'forkpoint-server[{EXTRA}]'")


def is_available() -> bool:
    """Return whether the library is installed."""
    return find_spec(_LIBRARY) is not None


class PersonalDataDetector:
    """Finds personal data of some kinds."""

    def __init__(self, kinds: Iterable[PersonalData]) -> None:
        self._kinds = sorted(kinds)
        self.version = ",".join(self._kinds)

    def suspects(self, data: bytes) -> bool:
        return _HINT.search(data) is not None

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        characters = text.decode(errors="replace")
        findings = []
        for kind in self._kinds:
            _, entity, lowest = _RECOGNIZERS[kind]
            for result in _recognizer(kind).analyze(characters, [entity], None):
                if result.score >= lowest:
                    start = len(characters[: result.start].encode())
                    end = start + len(characters[result.start : result.end].encode())
                    findings.append(Finding(start, end, str(kind)))
        return findings


@cache
def detector(kinds: frozenset[PersonalData]) -> PersonalDataDetector:
    """Return the detector of these kinds; without its library it fails where it is used, which blocks the payload."""
    return PersonalDataDetector(kinds)


@cache
def _recognizer(kind: PersonalData) -> Any:
    if not is_available():
        raise LibraryMissing
    from presidio_analyzer import predefined_recognizers  # noqa: PLC0415 - installed with the extra
    from tldextract import TLDExtract, tldextract  # noqa: PLC0415 - installed with the extra

    # The list of domains that comes with the library: it must not be downloaded while a run is stored.
    tldextract.TLD_EXTRACTOR = TLDExtract(suffix_list_urls=(), cache_dir=None)
    return getattr(predefined_recognizers, _RECOGNIZERS[kind][0])()
