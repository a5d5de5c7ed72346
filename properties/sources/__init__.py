"""Fetch feeds from sources, write the history, and send mails.

address       parses and checks the address of a source
fetch/        fetches a whole file, with one module for each protocol
arrival       stores a fetched file until it is an import
source_times  when a source is fetched next, and when a person must be warned
source_look   fetches a source and writes its history, in a worker
source_mail   sends the report of an import, and the alarms
"""
