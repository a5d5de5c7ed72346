"""Tables, CSV and Excel: what is read and written. No database.

columns     our own columns                 csv_reader, encoding           CSV, and its coding
synonyms    what others call them           xlsx_reader, workbook, sheets  Excel, within bounds
mapping     what a foreign name may mean    writer                         both
header      where it is, what it says       cells                          a cell and its value
rows        a row to a record               formatted                      a number with its format
template    an empty table to fill in
"""
