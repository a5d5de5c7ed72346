"""An edit becomes a PATCH. Nothing that says what we want, which is `editing`."""
