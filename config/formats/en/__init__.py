"""The formats for English, the language of all pages."""
