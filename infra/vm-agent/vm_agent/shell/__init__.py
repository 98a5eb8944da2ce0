"""Entering the environment of the program."""
