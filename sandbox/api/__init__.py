"""The handlers of the interface, one module for each part of §4.

A handler takes the platform, whose lock it holds, and the request; it returns an `Answer` or raises
`Refused`, before it has changed anything.
"""
