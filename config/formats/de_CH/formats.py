"""The numbers of our pages in Swiss German: 1'250.50; the rest is as in German."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = "'"
NUMBER_GROUPING = 3
