"""Paths of Cloud Storage in the program: gs://BUCKET/OBJECT and /gcs/BUCKET/OBJECT for Python's file functions."""
