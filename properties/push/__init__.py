"""The push: sends edits as PATCHes. It changes nothing that we want; `editing` does that."""
