"""All settings, from the environment (see .env.example); the defaults need no server at all."""

import gc
import os
import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from cryptography.fernet import Fernet
from django.conf import global_settings
from django.core.exceptions import ImproperlyConfigured

from config import data_dir
from config.environment import REMOVED, Env

# Nearly all that a start loads stays: to look through it for garbage was a seventh of the start of
# each process (`python -c "import config.wsgi"`: 1.11 s of processor time, now 0.94).
gc.set_threshold(50_000, 20, 100)

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env()
env.read_env(str(BASE_DIR / ".env"))
env.refuse(REMOVED)

DATA_DIR = Path(env.str("DATA_DIR", default=str(BASE_DIR / "var")))
data_dir.prepare(DATA_DIR)


LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
KEYS, DATABASE = "secrets.key", "db.sqlite3"


def kept_secret(name: str, fresh: str) -> str:
    """Return the secret in DATA_DIR/name, which is written with `fresh` when it is not there.

    Two processes that start together agree: whoever links the file first wins.
    """
    path = DATA_DIR / name
    if not path.exists():
        if name == KEYS and any((DATA_DIR / other).exists() for other in ("django.key", DATABASE)):
            raise ImproperlyConfigured(
                f"{path} is missing, and the stored tokens and secrets cannot be read without it:"
                " put it back from your backup. If there is none, write a new Fernet key into it,"
                " and enter each token and secret again."
            )
        draft = DATA_DIR / f".{name}.{secrets.token_hex(4)}"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(fresh)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


DEBUG = env.bool("DEBUG", default=False)
# S5: newest first; the older ones still decrypt. Not derived from SECRET_KEY, so each can rotate.
# Made before the other one: where that is, this one was, and is never replaced in silence.
SECRET_KEYS_AT_REST: list[str] = env.list("SECRET_KEYS_AT_REST", default=[]) or [
    kept_secret(KEYS, Fernet.generate_key().decode())
]
for _key in SECRET_KEYS_AT_REST:
    try:
        Fernet(_key)
    except ValueError:
        raise ImproperlyConfigured(
            f"SECRET_KEYS_AT_REST, or {DATA_DIR / KEYS}, holds something that is no Fernet key:"
            " each is 32 bytes in URL-safe base64, newest first, with commas between them."
        ) from None
SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret(
    "django.key", secrets.token_urlsafe(50)
)

# --- the product ---------------------------------------------------------------------------------
# The address under which the platform reaches us: callbacks go to PUBLIC_BASE_URL/webhooks/<uuid>/.
PUBLIC_BASE_URL = env.str("PUBLIC_BASE_URL", default="http://127.0.0.1:8000").rstrip("/")
# A callback to a host that is not allowed would be lost: its own host always is.
ALLOWED_HOSTS: list[str] = [
    *env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"]),
    urlsplit(PUBLIC_BASE_URL).hostname or "localhost",
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_BASE_URL]
# Seconds that one call to the platform may take, first byte to last; a lease is half as long again,
# and every other wait of the push follows from it (I13).
CALL_DEADLINE = env.float("CALL_DEADLINE", default=20.0)
# A file with the CAs that are trusted in calls to others; "": those of certifi.
CA_BUNDLE = env.certificates("CA_BUNDLE")
CALLBACK_BODY_LIMIT = 256 * 1024  # bytes (S7)
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # without it there is no /metrics
CALLBACK_ALLOW_NONE = env.bool("CALLBACK_ALLOW_NONE", default=False)  # authType NONE (S2)
# S22: calls with a wrong secret, from one address to one workspace in a minute, that are answered
# 401 and counted one by one; further ones are answered 429. 0: no limit. And whose X-Forwarded-For
# is believed: addresses and networks of proxies, or "unix" for one that comes by a socket.
CALLBACK_WRONG_A_MINUTE = 30
TRUSTED_PROXIES: list[str] = env.networks("TRUSTED_PROXIES")
IMPORT_FILE_LIMIT = env.int("IMPORT_FILE_LIMIT", default=32 * 1024**2)  # bytes of an upload
# Reads of orders in a workspace: at most so many in any minute, all workers together.
ORDER_READS_A_MINUTE = env.int("ORDER_READS_A_MINUTE", default=120)
# Seconds from one read of the platform's list of users to the next.
USERS_READ_EVERY = 3600.0
# A full feed that lacks more than this share of the properties of the last one is refused.
FEED_MISSING_SHARE = 0.2
# Sources of feeds: how many bytes a file may have, fetched and unpacked, and how many seconds a
# fetch may take; which folders of this machine may be read; and which hosts ("host", "host:port")
# or networks ("10.1.0.0/16") of our own may be asked (S13).
SOURCE_FILE_LIMIT = 512 * 1024**2
SOURCE_DEADLINE = 900.0
SOURCE_FOLDERS: list[str] = env.list("SOURCE_FOLDERS", default=[])
SOURCE_INTERNAL_HOSTS: list[str] = env.list("SOURCE_INTERNAL_HOSTS", default=[])
# The files of what was delivered: whether they are downloaded into the storage "materials", how
# many bytes one may have, and which hosts of our own network may be asked for them (S13).
MATERIALS_DOWNLOAD = env.bool("MATERIALS_DOWNLOAD", default=False)
MATERIALS_FILE_LIMIT = 512 * 1024**2
MATERIALS_INTERNAL_HOSTS: list[str] = env.list("MATERIALS_INTERNAL_HOSTS", default=[])
# Calls to the platform in the admin: "errors", "all" or "off"; how many are kept. All are counted.
PLATFORM_CALLS = env.one_of("PLATFORM_CALLS", "errors", ("off", "errors", "all"))
PLATFORM_CALLS_KEEP_ROWS = 100_000

# Messages to other systems (docs/outgoing.md): which hosts ("host", "host:port") or networks of our
# own may get them (S13).
OUTGOING_INTERNAL_HOSTS: list[str] = env.list("OUTGOING_INTERNAL_HOSTS", default=[])

# Days after which something is removed (S23); 0 keeps it, as does waiting for a person.
KEEP_DAYS = env.days(
    "KEEP_DAYS",
    {
        "events": 90,  # the bytes and headers of what was received
        "calls": 14,  # to the platform
        "messages": 30,  # to other systems, delivered or given up
        "imports": 365,  # since they ended
        "history": 730,  # what people did in the admin
        "users": 365,  # whom the platform lists no more, and no order or placement names
        "files": 0,  # of what was delivered, of orders that have ended
    },
)

# --- mail (docs/operations.md#mail) --------------------------------------------------------------
# By default nothing is sent.
globals().update(env.email_url("EMAIL_URL", default="dummymail://"))
EMAIL_TIMEOUT = CALL_DEADLINE
DEFAULT_FROM_EMAIL = env.str(
    "EMAIL_FROM", default=f"crm-sync@{urlsplit(PUBLIC_BASE_URL).hostname or 'localhost'}"
)
SERVER_EMAIL = DEFAULT_FROM_EMAIL

# --- Django --------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "crm_sync",
    "properties",
    "orders",
]
MIDDLEWARE = [
    "config.request_id.traced",
    "crm_sync.inbox.middleware.callbacks_first",
    "config.policy.content_policy",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "crm_sync.security.sessions.keep",
    "crm_sync.security.second_factor.gate",
    "orders.people.zone.in_own_zone",
    "properties.imports.upload_limit.known_people_only",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "crm_sync.security.login_limits.Refusals",
    "axes.middleware.AxesMiddleware",  # the last: it answers who is locked out
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "config" / "templates"],  # before the look's own
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Without these, SQLite drops callbacks and a stopped worker blocks every writer on PostgreSQL
# (decision 15).
SQLITE_OPTIONS: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}
POSTGRESQL_OPTIONS: dict[str, Any] = {
    "options": "-c lock_timeout=5s -c idle_in_transaction_session_timeout=5s"
    " -c statement_timeout=20s"
    # A backlog is claimed in the order of its index, not sorted at each claim, and no short
    # statement is compiled first: `python -m tests.benchmarks claims tick`.
    " -c random_page_cost=1.1 -c jit=off",
    # A plan is made once for each connection, not at each INSERT: decision 9.
    "server_side_binding": True,
    "prepare_threshold": 5,  # uses of a statement, then it is prepared
    # A server that vanishes, as at a failover, is given up after half a minute and not after hours.
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # milliseconds
}
DATABASES: dict[str, dict[str, Any]] = {
    "default": env.db_url("DATABASE_URL", default=f"sqlite:///{DATA_DIR / DATABASE}")
}
_database = DATABASES["default"]
_is_sqlite = _database["ENGINE"].endswith("sqlite3")
_database["OPTIONS"] = (SQLITE_OPTIONS if _is_sqlite else POSTGRESQL_OPTIONS) | _database.get(
    "OPTIONS", {}
)
_database["CONN_MAX_AGE"] = 60
_database["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# At most two passwords are hashed at a time, and none of an address that has failed too often. Five
# wrong passwords for one name from one address: then fifteen minutes with none at all (S17).
PASSWORD_HASHERS = [
    "crm_sync.security.login_limits.BoundedHasher",
    *global_settings.PASSWORD_HASHERS[1:],
]
AUTHENTICATION_BACKENDS = [
    "crm_sync.security.login_limits.AddressLimit",
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "crm_sync.security.login.locked_out"
AXES_USERNAME_CALLABLE = "crm_sync.security.login.name_kept"
AXES_CLIENT_IP_CALLABLE = "crm_sync.security.login.address"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # who keeps trying waits no longer
AXES_ENABLE_ADMIN = False  # crm_sync.admin.accounts.login_failures has our look
AXES_DISABLE_ACCESS_LOG = True  # who came when is nobody's business (S23)
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = [  # not kept with a failure
    *("username", "own_password", "code", "token", "secret", "address"),
]
# A code beside the password: of those who have an app, or of everybody (docs/accounts.md).
ADMIN_SECOND_FACTOR = env.one_of("ADMIN_SECOND_FACTOR", "off", ("off", "optional", "required"))
OTP_TOTP_ISSUER = f"CRM sync {urlsplit(PUBLIC_BASE_URL).hostname}"  # what the app calls it
# Seconds from a login until the next one is asked for, whatever was done meanwhile; and seconds
# without use, after which a session ends before that (0: never).
SESSION_COOKIE_AGE = 8 * 3600
SESSION_IDLE = env.int("SESSION_IDLE", default=3600)
LANGUAGE_CODE = "en"
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = env.one_of("TIME_ZONE", "UTC", available_timezones())
USE_TZ = True
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
STATIC_URL = "static/"
# In an image it is filled when that is built.
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(DATA_DIR / "static")))
STATIC_ROOT.mkdir(exist_ok=True)
STORAGES: dict[str, Mapping[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    # Where this default is on one machine, several web servers share one.
    "materials": env.storage(
        "MATERIALS_STORAGE",
        {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": str(DATA_DIR / "materials"),
                "base_url": None,  # each file goes through a view that asks for a permission
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        },
    ),
}
WHITENOISE_USE_FINDERS = True  # no collectstatic step before the first start
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000  # the property form has one input a field of the catalog
DATA_UPLOAD_MAX_NUMBER_FILES = 1  # an import has one, nothing else has any
FILE_UPLOAD_HANDLERS = [
    "properties.imports.upload_limit.UploadLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

HTTPS = PUBLIC_BASE_URL.startswith("https://")
# A browser sends these names to this very host alone, and takes them from no other.
SESSION_COOKIE_NAME = "__Host-sessionid" if HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else "csrftoken"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=3600 if HTTPS else 0)
# A redirected callback would be a lost event (S9); whoever asks how we are comes from inside.
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^webhooks/", r"^(healthz|readyz|workersz|metrics)$"]
# Whether all names below the host are under HTTPS, and shall be so for ever, only its owner knows.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# --- Celery (what each line prevents: decision 15) -----------------------------------------------
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://localhost")
_broker_dir = DATA_DIR / "broker"
if CELERY_BROKER_URL.startswith("filesystem"):
    for _folder in ("queue", "control"):
        (_broker_dir / _folder).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "data_folder_in": str(_broker_dir / "queue"),
        "data_folder_out": str(_broker_dir / "queue"),
        "control_folder": str(_broker_dir / "control"),
        "polling_interval": 0.1,  # seconds; the default of one second is what people would wait
    }
elif CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 120,
        "unacked_restore_interval": 10,
        "unacked_restore_throttle": 1,
        "socket_connect_timeout": 0.2,
        "socket_timeout": 0.5,
        "retry_on_timeout": False,
        "health_check_interval": 25,
    }
CELERY_BROKER_CONNECTION_TIMEOUT = 0.3
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# For ever; by default a worker would give up at the hundredth try.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 0}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Threads, since one that waits for an answer costs little; an idle one is not started.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", default=256)
# Seconds for which a worker that ends waits for its timer: honcho kills after five in all.
CELERY_WORKER_TIMER_PRECISION = 0.2
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
# The tick has a queue of its own in the broker, so that no backlog of messages delays it.
CELERY_TASK_QUEUES: dict[str, dict[str, str]] = {"celery": {}, "tick": {}}
CELERY_TASK_ROUTES = {"crm_sync.tick": {"queue": "tick"}}
CELERY_TIMEZONE = TIME_ZONE

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "config.logs.LineFormatter"}, "json": {"()": "config.logs.Json"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.one_of("LOG_FORMAT", "line", ("line", "json")),
        }
    },
    "filters": {"one_line": {"()": "config.logs.WithoutTraceback"}},
    "loggers": {
        # Scanners ask for hosts that are not ours, all the time.
        "django.security.DisallowedHost": {"filters": ["one_line"]},
        # It repeats each failure in its own words; ours are one line (crm_sync.security.login).
        "axes": {"level": "ERROR"},
        # It writes whole addresses, and the query of one may hold a secret (S5).
        "urllib3": {"level": "ERROR"},
    },
    "root": {"handlers": ["console"], "level": env.one_of("LOG_LEVEL", "INFO", LOG_LEVELS)},
}

# --- the API (docs/api.md) -----------------------------------------------------------------------
API_CALLS_A_MINUTE = 600  # of one token
API_BODY_LIMIT = 1024**2  # bytes (S7)
# Calls are counted where all web processes see it. Without Redis each process counts its own.
_has_redis = CELERY_BROKER_URL.startswith(("redis://", "rediss://"))
CACHES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "api": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CELERY_BROKER_URL,
        "KEY_PREFIX": "crm_sync",
        "OPTIONS": {"socket_connect_timeout": 0.2, "socket_timeout": 0.2},  # seconds
    }
    if _has_redis
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "api"},
}
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "CRM sync",
    "VERSION": "1",
    "DESCRIPTION": "Properties and orders of one workspace. docs/api.md says what each call means.",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "SyncState": "properties.models.property.SyncState",
        "PlacementState": "orders.models.placement.PlacementState",
        "Origin": "properties.models.change.Origin",
        "ProblemKind": "properties.models.property.ProblemKind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "crm_sync.api.schema.completed",
        "properties.api.property_schema.every_field",
    ],
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "CRM sync",
    "SITE_HEADER": "CRM sync",
    "SITE_SUBHEADER": "Properties and orders, in sync",
    "SITE_SYMBOL": "sync_alt",
    "SITE_URL": None,  # there is no other site to return to
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "DASHBOARD_CALLBACK": "crm_sync.admin.overview.dashboard.dashboard",
    "STYLES": ["crm_sync.admin.overview.dashboard.stylesheet"],
    "SCRIPTS": ["crm_sync.admin.overview.dashboard.keyboard"],
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": "crm_sync.admin.overview.dashboard.favicon",
        },
    ],
    "SIDEBAR": {"navigation": "config.navigation.sections"},
}
