"""Runs the program in a container, with Docker."""
