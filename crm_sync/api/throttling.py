"""Limits the calls of a token in a minute, over all processes that share the cache."""

import logging
import time
from typing import Any

from django.conf import settings
from django.core.cache import caches
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from crm_sync.models import ApiToken

MINUTE = 60  # seconds
log = logging.getLogger(__name__)


class TokenRate(BaseThrottle):
    """Counts calls in whole minutes, with one atomic increment each (decision 26)."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count a call. If the cache fails, allow the call and log it."""
        if not isinstance(request.auth, ApiToken):
            return True  # it is refused before anything is read
        now = time.time()
        self.left = MINUTE - now % MINUTE
        key = f"api:{request.auth.pk}:{now // MINUTE:.0f}"
        try:
            cache = caches["api"]
            cache.add(key, 0, timeout=2 * MINUTE)
            return bool(cache.incr(key) <= settings.API_CALLS_A_MINUTE)
        except (RedisError, ValueError) as error:  # ValueError: the key was removed in between
            log.warning("a call of the API was not counted: %s", error)
            return True

    def wait(self) -> float:
        """Return the seconds until the next minute."""
        return self.left
