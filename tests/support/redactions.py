"""Redactions for tests: field rules and detectors under a fixed key, and secrets in the shapes of many vendors.

The secrets are made when a test runs, so that no scanner of source code takes them for real ones.
"""

import random
from collections.abc import Callable
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Any, Final

from traces.redaction.encoded_secrets import encoded_secret_detector
from traces.redaction.findings import Detector
from traces.redaction.markers import Digester
from traces.redaction.policy import FieldRule, Policy
from traces.redaction.redactor import Redaction
from traces.redaction.secrets import secret_detector

KEY: Final = b"a key of tests, long enough to be one"
_WORD: Final = ascii_letters + digits
_HEX: Final = digits + "abcdef"
_UPPER: Final = ascii_uppercase + digits
_LOWER: Final = ascii_lowercase + digits
# Characters of an alphabet, of some length.
Some = Callable[[str, int], str]


def redaction(*rules: dict[str, Any], detectors: tuple[Detector, ...] | None = None) -> Redaction:
    """A redaction with field rules, and with the secret detectors unless other detectors are given."""
    policy = Policy(rules=tuple(FieldRule.model_validate(rule) for rule in rules))
    chosen = (secret_detector(), encoded_secret_detector()) if detectors is None else detectors
    return Redaction(policy=policy, detectors=chosen, digester=Digester(KEY))


def secrets(seed: int = 0) -> dict[str, str]:
    """Secrets in the shape of each vendor, by name. Equal seeds give equal secrets."""
    source = random.Random(seed)

    def some(alphabet: str, length: int) -> str:
        # A digit and a letter at the front, so that no shape lacks one by chance.
        return "7" + "a" * ("a" in alphabet) + "".join(source.choices(alphabet, k=length - 1 - ("a" in alphabet)))

    parts = (_of_model_vendors, _of_code_and_chat, _of_packages_and_clouds, _of_operations)
    return {name: secret for part in parts for name, secret in part(some).items()}


def _of_model_vendors(some: Some) -> dict[str, str]:
    """Keys of models, embeddings and their traces."""
    return {
        "OpenAI": f"sk-proj-{some(_WORD, 40)}T3BlbkFJ{some(_WORD, 40)}",
        "OpenAI (old)": f"sk-{some(_WORD, 48)}",
        "Anthropic": f"sk-ant-api03-{some(_WORD, 93)}AA",
        "Google": f"AIza{some(_WORD, 35)}",
        "Google OAuth": f"GOCSPX-{some(_WORD, 28)}",
        "Google access token": f"ya29.{some(_WORD, 60)}",
        "AWS": f"AKIA{some(_UPPER, 16)}",
        "AWS session": f"ASIA{some(_UPPER, 16)}",
        "Amazon Bedrock": f"ABSK{some(_WORD, 100)}",
        "Groq": f"gsk_{some(_WORD, 20)}WGdyb3FY{some(_WORD, 24)}",
        "Groq without a signature": f"gsk_{some(_WORD, 52)}",
        "Forkpoint": f"fp_{some(_WORD + '-_', 43)}",
        "xAI": f"xai-{some(_WORD, 80)}",
        "OpenRouter": f"sk-or-v1-{some(_HEX, 64)}",
        "DeepSeek": f"sk-{some(_HEX, 32)}",
        "Perplexity": f"pplx-{some(_WORD, 48)}",
        "Together": f"tgp_v1_{some(_WORD, 43)}",
        "Hugging Face": f"hf_{some(_WORD, 34)}",
        "LangSmith": f"lsv2_pt_{some(_HEX, 32)}_{some(_HEX, 10)}",
        "Langfuse": f"sk-lf-{some(_HEX, 8)}-{some(_HEX, 4)}-{some(_HEX, 4)}-{some(_HEX, 4)}-{some(_HEX, 12)}",
        "Tavily": f"tvly-{some(_WORD, 32)}",
        "Pinecone": f"pcsk_{some(_WORD, 60)}",
        "Replicate": f"r8_{some(_WORD, 37)}",
        "E2B": f"e2b_{some(_HEX, 40)}",
        "ElevenLabs": f"sk_{some(_HEX, 48)}",
    }


def _of_code_and_chat(some: Some) -> dict[str, str]:
    """Keys of code hosting, chat and payment."""
    return {
        "GitHub": f"ghp_{some(_WORD, 36)}",
        "GitHub fine-grained": f"github_pat_{some(_WORD, 22)}_{some(_WORD, 59)}",
        "GitHub app": f"ghs_{some(_WORD, 36)}",
        "GitLab": f"glpat-{some(_WORD, 20)}",
        "Bitbucket": f"ATBB{some(_WORD, 24)}{some(digits, 8)}",
        "Atlassian": f"ATATT3xFfGF0{some(_WORD, 160)}={some(digits, 8)}",
        "Slack bot": f"xoxb-{some(digits, 12)}-{some(digits, 12)}-{some(_WORD, 24)}",
        "Slack app": f"xapp-1-{some(_UPPER, 11)}-{some(digits, 13)}-{some(_HEX, 64)}",
        "Slack webhook": f"https://hooks.slack.com/services/T{some(_UPPER, 10)}/B{some(_UPPER, 10)}/{some(_WORD, 24)}",
        "Discord": f"MTAx{some(_WORD, 22)}.{some(_WORD, 6)}.{some(_WORD, 38)}",
        "Telegram": f"{some(digits, 10)}:AA{some(_WORD, 33)}",
        "Stripe": f"sk_live_{some(_WORD, 24)}",
        "Stripe restricted": f"rk_live_{some(_WORD, 99)}",
        "Stripe webhook": f"whsec_{some(_WORD, 32)}",
        "Square": f"sq0atp-{some(_WORD, 22)}",
        "PayPal": f"access_token$production${some(_LOWER, 16)}${some(_HEX, 32)}",
        "Shopify": f"shpat_{some(_HEX, 32)}",
    }


def _of_packages_and_clouds(some: Some) -> dict[str, str]:
    """Keys of mail, packages and clouds."""
    return {
        "SendGrid": f"SG.{some(_WORD, 22)}.{some(_WORD, 43)}",
        "Mailchimp": f"{some(_HEX, 32)}-us12",
        "Brevo": f"xkeysib-{some(_HEX, 64)}-{some(_WORD, 16)}",
        "Twilio": f"SK{some(_HEX, 32)}",
        "npm": f"npm_{some(_WORD, 36)}",
        "PyPI": f"pypi-AgEIcHlwaS5vcmc{some(_WORD, 160)}",
        "RubyGems": f"rubygems_{some(_HEX, 48)}",
        "NuGet": f"oy2{some(_LOWER, 43)}",
        "Docker": f"dckr_pat_{some(_WORD, 27)}",
        "Azure client secret": f"{some(_WORD, 3)}8Q~{some(_WORD, 34)}",
        "Azure storage": f"AccountKey={some(_WORD, 86)}==",
        "DigitalOcean": f"dop_v1_{some(_HEX, 64)}",
        "Databricks": f"dapi{some(_HEX, 32)}",
        "Heroku": f"HRKU-{some(_WORD, 60)}",
        "HashiCorp Vault": f"hvs.{some(_WORD, 95)}",
        "Terraform": f"{some(_WORD, 14)}.atlasv1.{some(_WORD, 67)}",
        "Pulumi": f"pul-{some(_HEX, 40)}",
    }


def _of_operations(some: Some) -> dict[str, str]:
    """Keys of monitoring and documents, tokens and private keys."""
    jwt_head, jwt_body = "eyJ" + some(_WORD, 33), "eyJ" + some(_WORD, 60)
    return {
        "Grafana": f"glsa_{some(_WORD, 32)}_{some(_HEX, 8)}",
        "New Relic": f"NRAK-{some(_UPPER, 27)}",
        "Sentry": f"sntryu_{some(_HEX, 64)}",
        "Notion": f"ntn_{some(digits, 11)}{some(_WORD, 35)}",
        "Linear": f"lin_api_{some(_WORD, 40)}",
        "Airtable": f"pat{some(_WORD, 14)}.{some(_HEX, 64)}",
        "Figma": f"figd_{some(_WORD, 40)}",
        "Postman": f"PMAK-{some(_HEX, 24)}-{some(_HEX, 34)}",
        "Supabase": f"sbp_{some(_HEX, 40)}",
        "Vercel": f"vcp_{some(_WORD, 56)}",
        "Cloudflare": f"cfut_{some(_WORD, 40)}{some(_HEX, 8)}",
        "JWT": f"{jwt_head}.{jwt_body}.{some(_WORD, 43)}",
        "private key": "-----BEGIN RSA PRIVATE KEY-----\n"
        + "\n".join(some(_WORD, 64) for _ in range(12))
        + "\n-----END RSA PRIVATE KEY-----",
    }
