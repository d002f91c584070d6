"""Settings, read from environment variables.

Embedded (default): SQLite, a folder, an in-memory broker and channel layer, one process.
Distributed: `DATABASE_URL` (PostgreSQL) and `REDIS_URL`. No other file checks which one it is.
"""

import fcntl
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from cockpit.process import home, logs, variables
from cockpit.process.variables import env

VERSION = "0.1.0"
BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(env.str("FORKPOINT_HOME", default="~/.forkpoint")).expanduser()
DATABASE_URL = env.str("DATABASE_URL", default="")
REDIS_URL: str = env.str("REDIS_URL", default="")
HOST = variables.host("FORKPOINT_HOST", default="127.0.0.1")


def _otlp_grpc_port() -> int | None:
    """Return the port of OTLP/gRPC, or None: it is off."""
    text = env.str("FORKPOINT_OTLP_GRPC_PORT", default="")
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536 or int(text) == PORT:
        raise ImproperlyConfigured(
            f"FORKPOINT_OTLP_GRPC_PORT is “{text}”: set it to a port number from 1 to 65535 other than FORKPOINT_PORT; "
            "4317 is usual."
        )
    if not find_spec("grpc"):
        raise ImproperlyConfigured(
            "FORKPOINT_OTLP_GRPC_PORT is set: install the extra with `pip install 'forkpoint-server[grpc]'`."
        )
    return int(text)


@contextmanager
def _home_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ImproperlyConfigured(
            f"FORKPOINT_HOME is {HOME}, which is not writable ({error.strerror}): set it to a writable folder."
        ) from error


def _generate_key(path: Path) -> None:
    home.make_home(HOME)
    path.touch(mode=0o600)
    with path.open("r+") as file:
        # Only one of several processes that start at once generates the key.
        fcntl.flock(file, fcntl.LOCK_EX)
        if not file.read():
            file.write(secrets.token_urlsafe(48))


def secret_key() -> str:
    """Return the configured key, or one generated once in the home folder and readable only by its owner."""
    configured_key: str = env.str("FORKPOINT_SECRET_KEY", default="")
    if configured_key:
        if len(configured_key) < 32:
            raise ImproperlyConfigured("FORKPOINT_SECRET_KEY is too short: use at least 32 characters.")
        return configured_key
    path = HOME / "secret_key"
    if not path.exists() or not path.stat().st_size:
        with _home_errors():
            _generate_key(path)
    return path.read_text()


def redaction_key(*, is_distributed: bool) -> str:
    """Return the configured key of redacted values, or none: one is then generated in the home folder.

    Processes on several machines have no folder in common, so theirs follows from the secret key.
    """
    key: str = env.str("FORKPOINT_REDACTION_KEY", default="")
    if key and len(key) < 32:
        raise ImproperlyConfigured("FORKPOINT_REDACTION_KEY is too short: use at least 32 characters.")
    if key or not is_distributed:
        return key
    return hmac.digest(secret_key().encode(), b"redaction", "sha256").hex()


def _database() -> dict[str, Any]:
    if not DATABASE_URL:
        with _home_errors():
            home.make_home(HOME)
            home.make_private_file(HOME / "forkpoint.sqlite3")
        # IMMEDIATE: without it, a transaction that reads first fails at once if there is a second writer.
        return {
            "ENGINE": "cockpit.db.sqlite",
            "NAME": str(HOME / "forkpoint.sqlite3"),
            "CONN_MAX_AGE": None,
            # A file, so that worker threads share it.
            "TEST": {"NAME": str(HOME / "test.sqlite3")},
            "OPTIONS": {
                "timeout": 20,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; "
                "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA mmap_size=268435456; "
                # In pages: batches change the same pages of indexes again and again, so that later is less.
                "PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=8192;",
            },
        }
    if not DATABASE_URL.startswith(("postgres://", "postgresql://")):
        raise ImproperlyConfigured("DATABASE_URL must name a PostgreSQL database: postgres://user:password@host/name.")
    database = env.db_url("DATABASE_URL")
    # Detect a vanished server within half a minute; the system's default takes hours.
    options = {
        "connect_timeout": 10,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 30_000,
        **database.pop("OPTIONS", {}),
    }
    engine = {"ENGINE": "cockpit.db.postgres", "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return {**database, **engine, "OPTIONS": options}


def artifact_storage() -> dict[str, Any]:
    place = env.str("FORKPOINT_ARTIFACTS", default=str(HOME / "artifacts"))
    if not place.startswith("s3://"):
        return {"BACKEND": "traces.storage.artifact_folder.ArtifactFolder", "OPTIONS": {"location": place}}
    bucket, _, prefix = place.removeprefix("s3://").partition("/")
    if not bucket:
        raise ImproperlyConfigured("FORKPOINT_ARTIFACTS names no bucket: set it to s3://bucket or to a folder.")
    if find_spec("storages") is None or find_spec("boto3") is None:
        raise ImproperlyConfigured(
            "FORKPOINT_ARTIFACTS is on S3: install the extra with `pip install 'forkpoint-server[s3]'`."
        )
    options = {"bucket_name": bucket, "location": prefix, "file_overwrite": True}
    region = env.str("AWS_REGION", default="") or env.str("AWS_DEFAULT_REGION", default="")
    endpoint = env.str("AWS_ENDPOINT_URL", default="")
    options |= {
        "region_name": region or None,
        "endpoint_url": endpoint or None,
        "client_config": _s3(own=bool(endpoint)),
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def _s3(*, own: bool) -> Any:
    """Client options. Self-hosted servers have no host name per bucket and may not support newer checksums."""
    from botocore.config import Config  # noqa: PLC0415  # installed with the extra `s3`

    yours = {"s3": {"addressing_style": "path"}, "request_checksum_calculation": "when_required"} if own else {}
    # Detect an outage within seconds: requests fail with an error, and replays wait and retry.
    patience = {"connect_timeout": 3, "read_timeout": 20, "retries": {"mode": "standard", "total_max_attempts": 2}}
    return Config(signature_version="s3v4", **patience, **yours)


def broker_url() -> str:
    """URL of Redis for Celery, which verifies certificates only if the URL requires it."""
    if not REDIS_URL.startswith("rediss://") or "ssl_cert_reqs=" in REDIS_URL:
        return REDIS_URL
    return f"{REDIS_URL}{'&' if '?' in REDIS_URL else '?'}ssl_cert_reqs=required"


def _log_level() -> str:
    level: str = env.str("FORKPOINT_LOG_LEVEL", default="WARNING").upper()
    if level not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
        raise ImproperlyConfigured(f"FORKPOINT_LOG_LEVEL is “{level}”: set it to debug, info, warning or error.")
    return level


def _check_shape() -> None:
    """Require PostgreSQL with Redis: with only one of them, work or wake-ups would be lost."""
    if REDIS_URL and not REDIS_URL.startswith(("redis://", "rediss://")):
        raise ImproperlyConfigured("REDIS_URL must look like redis://host:6379/0, or rediss:// for TLS.")
    if REDIS_URL and not DATABASE_URL:
        raise ImproperlyConfigured("REDIS_URL is set but DATABASE_URL is not: several processes need PostgreSQL.")


def public_url() -> str:
    """Public address of this server, used in links. Empty: the address of the request."""
    text: str = env.str("FORKPOINT_URL", default="").rstrip("/")
    parts = urlsplit(text)
    if text and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment):
        raise ImproperlyConfigured(
            f"FORKPOINT_URL is “{text}”: set it to an address like https://forkpoint.example.com."
        )
    return text


_check_shape()
PORT = variables.port("FORKPOINT_PORT", default="8700")
OTLP_GRPC_PORT = _otlp_grpc_port()
# A worker counts as dead after this time without a heartbeat.
TAKEOVER_S = variables.seconds("FORKPOINT_TAKEOVER_S", default="15", least=1, most=3600)
# Largest decompressed body of a batch of events or spans.
MAX_BODY_BYTES = variables.whole_number("FORKPOINT_MAX_BODY_MB", default="64", least=1, most=2048) * 1024 * 1024
# A run that arrives over the network is sealed this long after its root step ended, or if nothing arrives at all.
QUIET_S = variables.seconds("FORKPOINT_QUIET_S", default="5", least=0, most=3600)
IDLE_S = variables.seconds("FORKPOINT_IDLE_S", default="900", least=1, most=7 * 24 * 3600)
DELETION_GRACE_S = variables.seconds("FORKPOINT_DELETION_GRACE_S", default="86400", least=0, most=7 * 24 * 3600)
PROVIDERS = variables.objects_by_name("FORKPOINT_PROVIDERS", "providers")
TOOLS = variables.objects_by_name("FORKPOINT_TOOLS", "tools")
HOOKS = variables.objects_by_name("FORKPOINT_HOOKS", "hooks")
TELEMETRY = variables.objects_by_name("FORKPOINT_TELEMETRY", "telemetry targets")
MCP_SERVERS = variables.objects_by_name("FORKPOINT_MCP_SERVERS", "MCP servers")
RETRIEVERS = variables.objects_by_name("FORKPOINT_RETRIEVERS", "retrievers")
EMBEDDED = not REDIS_URL
PUBLIC_URL = public_url()
SHARING = variables.switch("FORKPOINT_SHARING")
SECRET_KEY = secret_key()
# Digests of redacted values. Without a configured key, one is generated in the file when it is first needed.
REDACTION_KEY = redaction_key(is_distributed=bool(REDIS_URL))
REDACTION_KEY_FILE = HOME / "redaction_key"
DEBUG = False
LOOPBACK = HOST in {"127.0.0.1", "localhost", "::1"}
# On loopback, only names of this machine are accepted; this refuses other sites' names (DNS rebinding).
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"] if EMBEDDED and LOOPBACK else ["*"]
LOGIN_REQUIRED = not (EMBEDDED and LOOPBACK)
ROOT_URLCONF = "cockpit.urls"
ASGI_APPLICATION = "cockpit.asgi.application"
WSGI_APPLICATION = "cockpit.wsgi.application"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "traces",
    "diffing",
    "replay",
    "cockpit",
]
MIDDLEWARE = [
    "cockpit.http.transfer.compression.compress_responses",
    "cockpit.http.middleware.request_ids",
    "cockpit.http.middleware.security_headers",
    "cockpit.http.middleware.bounded_queries",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "cockpit.http.auth.access_control",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "cockpit.http.errors.csrf_failure"
APPEND_SLASH = False
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True, "OPTIONS": {}}]
DATABASES = {"default": _database()}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(HOME / "files")}},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    "artifacts": artifact_storage(),
}
STATIC_URL = "/static/"
# A wheel contains the built interface; in the source tree, `make` builds it.
_PACKAGED_FRONTEND = BASE_DIR / "cockpit" / "frontend"
FRONTEND_DIST = _PACKAGED_FRONTEND if _PACKAGED_FRONTEND.exists() else BASE_DIR / "frontend" / "dist"
WHITENOISE_ROOT = FRONTEND_DIST if FRONTEND_DIST.exists() else None
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
# The build names each asset by its content.
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/assets/"
USE_TZ = True
TIME_ZONE = "UTC"
DATA_UPLOAD_MAX_MEMORY_SIZE = 64 * 1024 * 1024
# A folder is imported in one request, because some systems spread a run over several files.
DATA_UPLOAD_MAX_NUMBER_FILES = 100_000
FILE_UPLOAD_HANDLERS = ["traces.imports.upload_files.SharedFileHandler"]
# Artifacts and uploads contain recordings, so only the owner can read them.
FILE_UPLOAD_PERMISSIONS = 0o600
FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o700

# A Redis that does not respond counts as down. Blocking reads take at most 5 s.
_REDIS_LIMITS = {"socket_connect_timeout": 3, "socket_timeout": 10, "socket_keepalive": True}

# Counters shared by all processes, such as the number of opened share links per address.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if EMBEDDED
    else {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "forkpoint",
        "OPTIONS": _REDIS_LIMITS,
    }
}

CHANNEL_LAYERS = {
    "default": {"BACKEND": "cockpit.serving.embedded_worker.LoopBoundLayer", "CONFIG": {"capacity": 1000}}
    if EMBEDDED
    else {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL, **_REDIS_LIMITS}], "capacity": 1000},
    }
}

CELERY_BROKER_URL = "memory://" if EMBEDDED else broker_url()
CELERY_BROKER_TRANSPORT = f"cockpit.serving.{'embedded_worker:QuickTransport' if EMBEDDED else 'redis_queue:Transport'}"
# Celery's own default is that of every other program on the same Redis: they would take each other's tasks.
CELERY_TASK_DEFAULT_QUEUE = "forkpoint"
# The in-memory transport polls once a second by default. Acknowledgements are off for Redis, because the database
# records unfinished work: a worker that cannot acknowledge a message during an outage would count it as open forever,
# and with enough of them it would stop accepting work.
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.02} if EMBEDDED else {**_REDIS_LIMITS, "ack_emulation": False}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker never gives up on its broker, and survives a full Redis or one that became a replica.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
# Messages behind a long replay are left for other workers.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_DISABLE_PREFETCH = not EMBEDDED  # supported by Redis only

LOGGING = logs.config(_log_level())
logs.configure()

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["cockpit.http.json_codec.OrjsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["cockpit.http.json_codec.OrjsonParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "EXCEPTION_HANDLER": "cockpit.http.errors.problem_response",
    "UNAUTHENTICATED_USER": None,
    # `format` is our own parameter of imports and reports.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Forkpoint",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "cockpit.http.openapi.add_live_messages",
    ],
}
