"""Profiles of the program, on request: py-spy in the background."""
