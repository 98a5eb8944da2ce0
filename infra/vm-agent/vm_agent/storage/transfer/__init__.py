"""The API of Cloud Storage: uploads and downloads of objects, in parallel and with checksums."""
