"""The formats of our pages in English: a 24-hour clock, and the time zone.

A person may type a day in ISO form or with the name of its month. Not with slashes: 3/4/2026 is a
day in March or in April, as people come from here or there.
"""

DATE_FORMAT = "D j M Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "D j M Y, H:i:s T"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = "D j M Y, H:i T"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%d %B %Y"]
DATETIME_INPUT_FORMATS = [
    f"{day} {time}" for day in DATE_INPUT_FORMATS for time in ("%H:%M:%S", "%H:%M")
]
