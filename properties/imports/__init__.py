"""Turn a feed into edits: the upload, the job, the report. The file formats are in `feeds`."""
