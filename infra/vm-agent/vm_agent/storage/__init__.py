"""The job directory and what the program writes: saved while it runs, and restored for the next attempt."""
