"""A feed becomes edits: the upload, the job, the report. No file format, which is `feeds`."""
