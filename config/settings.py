"""All settings, from the environment (see .env.example). The defaults need no other server."""

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
from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

from config import data_dir
from config.environment import REMOVED, Env
from crm_sync import installed

# Nearly all objects of a start stay in use. Collecting garbage among them was a seventh of each
# start (`python -c "import config.wsgi"`: 1.11 s of processor time, now 0.94).
gc.set_threshold(50_000, 20, 100)

BASE_DIR = installed.home()
env = Env()
env.read_env(str(BASE_DIR / ".env"))
env.refuse(REMOVED)

DATA_DIR = env.folder("DATA_DIR", default=BASE_DIR / "var")
data_dir.prepare(DATA_DIR)


LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
KEYS, DATABASE = "secrets.key", "db.sqlite3"


def kept_secret(name: str, fresh: str) -> str:
    """Return the secret in DATA_DIR/name, or write `fresh` there if the file is missing.

    Two processes that start together use the same secret: the first to link the file wins.
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
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(fresh)
            os.link(draft, path)
        except FileExistsError:
            pass
        except OSError as error:
            raise ImproperlyConfigured(f"{path} cannot be written: {error.strerror}") from error
        finally:
            draft.unlink(missing_ok=True)
    try:
        kept = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"{path} cannot be read: {error.strerror}. It must belong to the user who runs this."
        ) from error
    except UnicodeDecodeError:
        kept = ""
    if not kept:
        raise ImproperlyConfigured(f"{path} is empty or no text: put it back from your backup.")
    return kept


DEBUG = env.bool("DEBUG", default=False)
# S5: newest first; the older keys still decrypt. Not derived from SECRET_KEY, so each can rotate.
# Created before django.key: if that file exists, a missing key file was lost, and is not replaced.
SECRET_KEYS_AT_REST: list[str] = env.list("SECRET_KEYS_AT_REST", default=[]) or [
    key.strip() for key in kept_secret(KEYS, Fernet.generate_key().decode()).split(",")
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
PUBLIC_BASE_URL = env.origin("PUBLIC_BASE_URL", default="http://127.0.0.1:8000")
# A callback to a host that is not allowed would be lost, so our public host is always allowed.
ALLOWED_HOSTS: list[str] = [
    *env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"]),
    urlsplit(PUBLIC_BASE_URL).hostname or "localhost",
]
CSRF_TRUSTED_ORIGINS = [PUBLIC_BASE_URL]
# Seconds that one call to the platform may take, first byte to last. A lease is 1.5 times as long,
# and every other wait of the push follows from it (I13).
CALL_DEADLINE = env.float("CALL_DEADLINE", default=20.0)
# A file with the CAs that are trusted in outgoing calls; "": the CAs of certifi.
CA_BUNDLE = env.certificates("CA_BUNDLE")
CALLBACK_BODY_LIMIT = 256 * 1024  # bytes (S7)
METRICS_TOKEN = env.str("METRICS_TOKEN", default="")  # without it there is no /metrics
# The receiver of traces (docs/operations.md#traces). OpenTelemetry reads it and its other variables
# itself, so it is no setting of ours. Without it nothing is recorded.
OTLP_ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
CALLBACK_ALLOW_NONE = env.bool("CALLBACK_ALLOW_NONE", default=False)  # authType NONE (S2)
# S22: the number of calls with a wrong secret, from one address to one workspace in a minute, that
# are answered 401 and counted one by one. Further calls are answered 429. 0: no limit.
# TRUSTED_PROXIES are the addresses and networks of proxies whose X-Forwarded-For is used, or "unix"
# for a proxy that connects by a Unix socket.
CALLBACK_WRONG_A_MINUTE = 30
TRUSTED_PROXIES: list[str] = env.networks("TRUSTED_PROXIES")
IMPORT_FILE_LIMIT = env.int("IMPORT_FILE_LIMIT", default=32 * 1024**2)  # bytes of an upload
# The most reads of orders in a workspace in any minute, all workers together.
ORDER_READS_A_MINUTE = env.int("ORDER_READS_A_MINUTE", default=120)
# Seconds between two reads of the platform's list of users.
USERS_READ_EVERY = 3600.0
# A full feed that lacks more than this share of the properties of the last one is refused.
FEED_MISSING_SHARE = 0.2
# Sources of feeds: the most bytes of a file, fetched and unpacked; the most seconds of a fetch; the
# folders of this machine that may be read; and the hosts ("host", "host:port") or networks
# ("10.1.0.0/16") of our own network that may be called (S13).
SOURCE_FILE_LIMIT = 512 * 1024**2
SOURCE_DEADLINE = 900.0
SOURCE_FOLDERS: list[str] = env.list("SOURCE_FOLDERS", default=[])
SOURCE_INTERNAL_HOSTS: list[str] = env.hosts("SOURCE_INTERNAL_HOSTS")
# The files of materials: whether they are downloaded into the storage "materials", the most bytes
# of a file, and the hosts of our own network that may be called for them (S13).
MATERIALS_DOWNLOAD = env.bool("MATERIALS_DOWNLOAD", default=False)
MATERIALS_FILE_LIMIT = 512 * 1024**2
MATERIALS_INTERNAL_HOSTS: list[str] = env.hosts("MATERIALS_INTERNAL_HOSTS")
# The folders of this machine into which files of materials may be uploaded. Hosts of our own
# network that may be targets are those of OUTGOING_INTERNAL_HOSTS.
TARGET_FOLDERS: list[str] = env.list("TARGET_FOLDERS", default=[])
# The calls to the platform that are stored for the admin: "errors", "all" or "off", and how many.
# All calls are counted.
PLATFORM_CALLS = env.one_of("PLATFORM_CALLS", "errors", ("off", "errors", "all"))
PLATFORM_CALLS_KEEP_ROWS = 100_000

# Messages to other systems (docs/outgoing.md): the hosts ("host", "host:port") or networks of our
# own network that may get them (S13).
OUTGOING_INTERNAL_HOSTS: list[str] = env.hosts("OUTGOING_INTERNAL_HOSTS")

# Days after which rows and files are removed (S23). With 0 they are kept for ever. A row that waits
# for a person is always kept.
KEEP_DAYS = env.days(
    "KEEP_DAYS",
    {
        "events": 90,  # the bytes and headers of received events
        "calls": 14,  # to the platform
        "messages": 30,  # to other systems, delivered or given up
        "imports": 365,  # since they ended
        "history": 730,  # the actions of people in the admin
        "users": 365,  # not listed by the platform any more, and not named in orders or placements
        "files": 0,  # of materials, for orders that have ended
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
    "orders.people.locale_of_reader.for_the_reader",
    "properties.imports.upload_limit.known_people_only",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "crm_sync.security.login_limits.Refusals",
    "axes.middleware.AxesMiddleware",  # must be last: it answers people who are locked out
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).with_name("templates")],  # before the templates of the theme
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": [
                "django.templatetags.i18n",
                "django.templatetags.static",
                "crm_sync.templatetags.problems",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
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
    # So that a backlog is claimed in the order of its index, not sorted at each claim, and short
    # statements are not compiled: `python -m lab.benchmarks claims tick`.
    " -c random_page_cost=1.1 -c jit=off",
    # A plan is made once for each connection, not at each INSERT: decision 9.
    "server_side_binding": True,
    "prepare_threshold": 5,  # uses of a statement before it is prepared
    # If a server vanishes, as in a failover, its connections fail after half a minute, not hours.
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
PASSWORD_RESET_TIMEOUT = 3 * 24 * 3600  # seconds; an invitation of a Friday works on Monday
# At most two passwords are hashed at a time, and none for an address that has failed too often.
# After five wrong passwords for one name from one address, it is locked for fifteen minutes (S17).
PASSWORD_HASHERS = [
    "crm_sync.security.login_limits.BoundedHasher",
    *global_settings.PASSWORD_HASHERS[1:],
]
AUTHENTICATION_BACKENDS = [
    "crm_sync.security.login_limits.AddressLimit",
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "crm_sync.security.provider_login.ProviderBackend",
]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "crm_sync.security.login.locked_out"
AXES_USERNAME_CALLABLE = "crm_sync.security.login.name_kept"
AXES_CLIENT_IP_CALLABLE = "crm_sync.security.login.address"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # further tries do not extend the lock
AXES_ENABLE_ADMIN = False  # crm_sync.admin.accounts.login_failures replaces it
AXES_DISABLE_ACCESS_LOG = True  # the times of logins are private (S23)
AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = [  # not stored with a failure
    *("username", "own_password", "code", "token", "secret", "address"),
]
# A code beside the password: for people who have an app, or for everybody (docs/accounts.md).
ADMIN_SECOND_FACTOR = env.one_of("ADMIN_SECOND_FACTOR", "off", ("off", "optional", "required"))
OTP_TOTP_ISSUER = f"CRM sync {urlsplit(PUBLIC_BASE_URL).hostname}"  # the name in the app
# One login (docs/accounts.md#one-login): people log in with a provider of OpenID Connect, and two
# claims say what they may do. Without an issuer there is none.
OIDC_ISSUER = env.str("OIDC_ISSUER", default="")
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
if OIDC_ISSUER and not OIDC_CLIENT_ID:
    raise ImproperlyConfigured("OIDC_ISSUER needs OIDC_CLIENT_ID. See .env.example.")
OIDC_GROUPS_CLAIM = env.str("OIDC_GROUPS_CLAIM", default="groups")
OIDC_WORKSPACES_CLAIM = env.str("OIDC_WORKSPACES_CLAIM", default="workspaces")
# The groups here by the values of the claim. Without a group nobody gets in.
OIDC_GROUPS = env.texts(
    "OIDC_GROUPS", {name: name for name in ("Agents", "Operators", "Read-only")}
)
OIDC_ONLY = env.bool("OIDC_ONLY", default=False)  # then only superusers may use a password
OIDC_INTERNAL_HOSTS: list[str] = env.hosts("OIDC_INTERNAL_HOSTS")  # (S13)
# A session ends this many seconds after the login in any case, or after SESSION_IDLE seconds
# without use (0: never).
SESSION_COOKIE_AGE = 8 * 3600
SESSION_IDLE = env.int("SESSION_IDLE", default=3600)
# What commands, workers and programs read stays English; pages are in the language of the reader.
LANGUAGE_CODE = "en"
# Those in which no text is missing (decision 29, docs/languages.md).
LANGUAGES = [
    ("en", "English"),
    ("de", "Deutsch"),
    ("de-ch", "Deutsch (Schweiz)"),
    ("fr", "Français"),
    ("it", "Italiano"),
]
LOCALE_PATHS = [installed.beside("locale")]
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = env.one_of("TIME_ZONE", "UTC", available_timezones())
USE_TZ = True
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
STATIC_URL = "static/"
# In an image it is filled at build time.
STATIC_ROOT = env.folder("STATIC_ROOT", default=DATA_DIR / "static")
data_dir.make("STATIC_ROOT", STATIC_ROOT)
STORAGES: dict[str, Mapping[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    # This default is a folder of one machine. Several web servers need a shared storage.
    "materials": env.storage(
        "MATERIALS_STORAGE",
        {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {
                "location": str(DATA_DIR / "materials"),
                "base_url": None,  # a view serves each file and checks the permission
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        },
    ),
}
WHITENOISE_USE_FINDERS = True  # no collectstatic step before the first start
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5000  # the property form has an input for each catalog field
DATA_UPLOAD_MAX_NUMBER_FILES = 1  # only an import has a file
FILE_UPLOAD_HANDLERS = [
    "properties.imports.upload_limit.UploadLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

HTTPS = PUBLIC_BASE_URL.startswith("https://")
# A browser sends cookies with the prefix `__Host-` only to the host that has set them.
SESSION_COOKIE_NAME = "__Host-sessionid" if HTTPS else "sessionid"
CSRF_COOKIE_NAME = "__Host-csrftoken" if HTTPS else "csrftoken"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
# Otherwise a cookie with the text of the message would travel to the browser and back.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=3600 if HTTPS else 0)
# A redirected callback would be a lost event (S9). The health checks come from our own network. The
# API refuses http: after a redirect nobody would see that the token was sent in clear.
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [
    r"^webhooks/",
    r"^(healthz|readyz|workersz|metrics)$",
    r"^api/v1/(?!docs/|schema/)",
]
# Only the owner of the host knows whether all its subdomains use HTTPS, now and for ever.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

# --- Celery (what each line prevents: decision 15) -----------------------------------------------
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://localhost")
_broker_dir = DATA_DIR / "broker"
if CELERY_BROKER_URL.startswith("filesystem"):
    for _folder in ("queue", "control"):
        data_dir.make("DATA_DIR", _broker_dir / _folder)
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
        "data_folder_in": str(_broker_dir / "queue"),
        "data_folder_out": str(_broker_dir / "queue"),
        "control_folder": str(_broker_dir / "control"),
        "polling_interval": 0.1,  # seconds; with the default of one second people would wait
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
# Retry for ever; by default a worker would stop after 100 tries.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 0}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Threads, since a thread that waits for an answer costs little. Threads start only when needed.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", default=256)
# Seconds that an ending worker waits for its timer: honcho kills it after five seconds in all.
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
        # Scanners send requests for other hosts all the time.
        "django.security.DisallowedHost": {"filters": ["one_line"]},
        # It logs each failure again. Our own log has one line for it (crm_sync.security.login).
        "axes": {"level": "ERROR"},
        # It logs whole addresses, and the query of an address may hold a secret (S5).
        "urllib3": {"level": "ERROR"},
    },
    "root": {"handlers": ["console"], "level": env.one_of("LOG_LEVEL", "INFO", LOG_LEVELS)},
}

# --- the API (docs/api.md) -----------------------------------------------------------------------
API_CALLS_A_MINUTE = 600  # for one token
API_BODY_LIMIT = 1024**2  # bytes (S7)
# All web processes share one count of calls in Redis. Without Redis each process counts its own.
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
    "EXCEPTION_HANDLER": "crm_sync.api.error_answers.handle",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # `format` is an unknown parameter like any other
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
        "config.api_examples.with_examples",
    ],
}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "CRM sync",
    "SITE_HEADER": "CRM sync",
    "SITE_SUBHEADER": _("Properties and orders, in sync"),
    "SITE_SYMBOL": "sync_alt",
    "SITE_URL": None,  # there is no public site
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "DASHBOARD_CALLBACK": "crm_sync.admin.overview.dashboard.dashboard",
    "STYLES": [lambda _: static("crm_sync/admin.css")],
    "SCRIPTS": [
        lambda _: static("crm_sync/keyboard.js"),
        lambda _: static("crm_sync/palette.js"),
    ],
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda _: static("crm_sync/favicon.svg"),
        },
    ],
    "SIDEBAR": {"navigation": "config.navigation.sections"},
    "TABS": "config.navigation.tabs",
}
