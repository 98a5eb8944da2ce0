"""Cloud Storage and the job directory: uploads, downloads, the manifest, output sync and restore."""
