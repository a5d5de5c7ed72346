"""Readers and writers for tables, CSV and Excel. They need no database.

table_columns   our own columns                 csv_reader        reads CSV and its encoding
synonyms        the foreign names of columns    xlsx_reader       reads Excel, within limits
header          finds and reads the header      table_writer      writes both, and a template
table_row       converts a row to a record      workbook_stream   writes Excel as a stream
table_cells     converts a cell to its value    table_names       the names for people, and back
"""
