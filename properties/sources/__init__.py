"""Feeds that are fetched: where from, when, what came, and who is told.

address   which addresses a source may have
fetch/    one module for each protocol: a file comes whole, or not at all
store     where a file lies until it is an import
schedule  when a source is fetched next
worker    a look at a source, and what comes of it
history   the looks; alarms  when a person must look
mail      the report of an import, and the alarms
"""
