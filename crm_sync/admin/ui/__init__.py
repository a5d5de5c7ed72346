"""Parts for the screens of every app. There is no screen in it."""
