"""Exports of the desired properties, for the command and the admin.

export_file    a file in one of the formats
export_zip     a feed with the files of its properties beside it, as a ZIP
draft_folder   where an export is written before it is sent
export_report  what was exported, and what could not be
"""
