"""Feeds that are fetched: where from, when, what was found, and who gets a mail.

address       which addresses a source may have
fetch/        one module for each protocol: a file comes whole, or not at all
arrival       where a file lies until it is an import
source_times  when a source is fetched next, and when a person must look at it
source_look   a worker fetches a source, and writes its history
source_mail   the report of an import, and the alarms
"""
