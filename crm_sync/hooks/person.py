"""Who looks at a page."""

from typing import TypeAlias

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

Person: TypeAlias = AbstractBaseUser | AnonymousUser
