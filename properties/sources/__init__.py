"""Feeds that are fetched: where from, when, what came, and who is told.

address   which addresses a source may have
fetch/    one module for each protocol: a file comes whole, or not at all
unpack    the feed out of a ZIP, a gzip file or a folder
"""
