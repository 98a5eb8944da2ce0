"""The job directory in the bucket: its names, the manifest, and who may write to it."""
