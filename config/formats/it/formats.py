"""The formats of our pages in Italian: a 24-hour clock, and the time zone."""

DATE_FORMAT = "D j b Y"
TIME_FORMAT = "H:i"
DATETIME_FORMAT = "D j b Y, H:i:s T"
SHORT_DATE_FORMAT = DATE_FORMAT
SHORT_DATETIME_FORMAT = "D j b Y, H:i T"
DATE_INPUT_FORMATS = ["%d/%m/%Y", "%d.%m.%Y"]
DATETIME_INPUT_FORMATS = [
    f"{day} {time}" for day in DATE_INPUT_FORMATS for time in ("%H:%M:%S", "%H:%M")
]
TIME_INPUT_FORMATS = ["%H:%M:%S", "%H:%M", "%H.%M"]
