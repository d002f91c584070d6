"""Rules for secrets: keys with a shape of their own, and credentials that their context gives away.

The keys are those of CredSweeper, a maintained rule set (`rules/`, MIT). The contexts are ours: a recording is JSON and
prose, not source code, so a credential stands in an object's member, a header, a URL or a connection string.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import orjson

# Ends of names of members that contain a credential, in lower case without separators.
CREDENTIAL_NAMES: Final = (
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "apikey",
    "accesskey",
    "accountkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "apitoken",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "sessiontoken",
    "securitytoken",
    "bearertoken",
    "bottoken",
    "authorization",
)
# The same names in prose and logs, where a separator may stand between their words.
NAMES: Final = (
    r"(?i:passw(?:or)?d|passphrase|secret|(?:secret|api|access|account|private|signing|encryption)[ _.-]?key"
    r"|(?:api|auth|access|refresh|session|security|bearer|bot)[ _.-]?token|authorization)"
)
_VALUE: Final = r"[^\s\"'`\\,;&<>{}\[\]()$]"
_ASSIGNMENT: Final = r"[\"'`\\]{0,4}\s{0,3}(?:=>|:=|=|:)\s{0,3}[\"'`\\]{0,4}"
# In marshalled data: a member's name, the type of its text, and the text's length.
_MEMBER: Final = r"[0-9A-Za-z_-]{0,8}[ut](?s:.)(?s:.)\x00\x00"
_PLACEHOLDERS: Final = frozenset(
    {
        "string",
        "password",
        "secret",
        "none",
        "null",
        "true",
        "false",
        "undefined",
        "required",
        "optional",
        "hidden",
        "masked",
        "redacted",
        "changeme",
        "example",
        "your-api-key",
        "your_api_key",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretRule:
    """A kind of secret: its RE2 pattern with a group `value`, and what must not surround a match.

    `hint` is the pattern of the first look; `accepts` rejects matches that are no secrets.
    """

    kind: str
    title: str
    pattern: str
    boundary: bool = False
    following: str = ""
    hint: str = ""
    accepts: Callable[[str], bool] = lambda value: True


def has_digit(value: str) -> bool:
    return any(character.isdigit() for character in value)


def is_key_like(value: str) -> bool:
    """Return whether a text looks random: letters and digits, and no placeholder."""
    return is_assigned(value) and has_digit(value) and any(character.isalpha() for character in value)


def is_assigned(value: str) -> bool:
    """Return whether a value of a credential is given, rather than a placeholder."""
    return len(set(value)) > 3 and value.strip(".*").lower() not in _PLACEHOLDERS


def _is_header_value(value: str) -> bool:
    return is_key_like(value) or value.endswith("=")


# Keys of services that agents use, which the maintained set does not have.
AGENT_RULES: Final = (
    SecretRule(
        kind="langsmith-key", title="LangSmith API key", pattern=r"(?P<value>lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10})"
    ),
    SecretRule(
        kind="forkpoint-token",
        title="Token of Forkpoint",
        pattern=r"(?P<value>fp_[0-9A-Za-z_-]{43})",
        boundary=True,
        following="[0-9A-Za-z_-]",
    ),
    # The maintained set knows only keys with a signature, which not all have.
    SecretRule(
        kind="groq-key",
        title="Groq API key",
        pattern=r"(?P<value>gsk_[0-9A-Za-z]{48,})",
        boundary=True,
        accepts=is_key_like,
    ),
    SecretRule(kind="pinecone-key", title="Pinecone API key", pattern=r"(?P<value>pcsk_[0-9A-Za-z_]{50,})"),
    SecretRule(
        kind="replicate-token", title="Replicate API token", pattern=r"(?P<value>r8_[0-9A-Za-z]{37})", boundary=True
    ),
    SecretRule(kind="e2b-key", title="E2B API key", pattern=r"(?P<value>e2b_[0-9a-f]{40})", boundary=True),
    SecretRule(kind="elevenlabs-key", title="ElevenLabs API key", pattern=r"(?P<value>sk_[0-9a-f]{48})", boundary=True),
    SecretRule(
        kind="fireworks-key",
        title="Fireworks API key",
        pattern=r"(?P<value>fw_[0-9A-Za-z]{22,})",
        boundary=True,
        accepts=is_key_like,
    ),
    SecretRule(
        kind="twilio-key",
        title="Twilio API key",
        pattern=r"(?P<value>SK[0-9a-f]{32})",
        boundary=True,
        following="[0-9A-Za-z_+-]",
    ),
)
CONTEXT_RULES: Final = (
    SecretRule(
        kind="private-key",
        title="Private key",
        pattern=r"(?P<value>-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY[ A-Z]{0,10}-----(?s:.*?)"
        r"(?:-----END[ A-Z0-9]{0,40}PRIVATE KEY[ A-Z]{0,10}-----|\z))",
        hint=r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY",
    ),
    SecretRule(
        kind="secret-key",
        title="API key of the form sk-…",
        pattern=r"(?P<value>[rs]k-[0-9A-Za-z_-]{20,})",
        boundary=True,
        accepts=is_key_like,
    ),
    SecretRule(
        kind="aws-secret-access-key",
        title="AWS secret access key",
        pattern=r"(?i:aws|A[KS]IA[0-9A-Z]{16}).{0,60}?[^0-9A-Za-z/+](?P<value>[0-9A-Za-z/+]{40})",
        following="[0-9A-Za-z/+=]",
        accepts=is_key_like,
    ),
    SecretRule(
        kind="shared-access-key",
        title="Key of a connection string or a signed URL",
        pattern=r"(?i:accountkey|sharedaccesskey|[?&]sig|[?&]x-amz-signature)=(?P<value>[0-9A-Za-z+/%]{32,}={0,2})",
    ),
    SecretRule(
        kind="url-password",
        title="Password in a URL",
        # Without the scheme: an expression that may begin with any letter takes ten times as long.
        pattern=r"://[^\s/@:\"'<>\[\]{}$]{0,80}:(?P<value>[^\s/@:\"'<>\[\]{}$]{3,})@[0-9A-Za-z\[]",
        accepts=is_assigned,
    ),
    SecretRule(
        kind="authorization-header",
        title="Authorization header",
        pattern=r"(?i:\b(?:bearer|basic))\s{1,3}(?P<value>[0-9A-Za-z._~+/-]{12,}={0,2})",
        accepts=_is_header_value,
    ),
    SecretRule(
        kind="credential",
        title="Credential",
        pattern=rf"{NAMES}{_ASSIGNMENT}(?P<value>{_VALUE}{{6,}})",
        accepts=is_key_like,
        hint=rf"{NAMES}(?:{_MEMBER}|{_ASSIGNMENT}{_VALUE}{{6}})",
    ),
)


# What the first look searches for where a pattern begins with any letters or digits: a random id would begin a match at
# each of its characters, and an expression that counts on from all of them takes ten times as long.
_HINTS: Final = {
    "mailchimp-api-key": r"-us[0-9]",
    "telegram-bot-api-token": r"[0-9]:[0-9A-Za-z_-]{35}",
    "azure-secret-value": r"8Q~[0-9A-Za-z_~.-]{34}",
    "azure-storage-account-key": r"JQQJ9[9DH][0-9A-Za-z]{26}",
    "hashicorp-terraform-token": r"\.atlasv1\.",
    "newrelic-credentials": r"NRAK-[0-9A-Z]{27}|NRBR-[0-9a-f]{19}|NRII-[0-9A-Za-z_-]{25}|NRJS-[0-9a-z]{19}|"
    r"[0-9a-f]NRAL",
}


@cache
def secret_rules() -> tuple[SecretRule, ...]:
    """Return all rules, the specific kinds first."""
    document: dict[str, Any] = orjson.loads(files("traces.redaction").joinpath("rules/secrets.json").read_bytes())
    names = ("kind", "title", "pattern", "boundary", "following")
    vendor_rules = tuple(
        SecretRule(**{name: rule[name] for name in names}, hint=_HINTS.get(rule["kind"], ""))
        for rule in document["rules"]
    )
    return (*vendor_rules, *AGENT_RULES, *CONTEXT_RULES)
