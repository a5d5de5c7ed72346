"""The handlers of the interface, one module for each part of §4.

A handler gets the platform, whose lock is held, and the request. It returns an `Answer`, or raises
`Refused` before it has changed anything.
"""
