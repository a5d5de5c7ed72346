"""Fetch feeds from sources, write the history, and send mails.

address       parses and checks the address of a source
fetch/        fetches a whole file, with one module for each protocol
arrival       stores a fetched file until it is an import
source_times  when a source is fetched next, and when a person must be warned
look          one fetch of a source, and its row in the history
source_look   the queue, and a source whose file is replaced
in_turn_look  a source whose files are imported one after the other
file_order    which files of a folder are feeds, and in which order
delivered_files  which files were imported already
source_mail   sends the report of an import, and the alarms
"""
