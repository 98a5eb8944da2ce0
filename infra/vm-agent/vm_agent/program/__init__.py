"""The program as a process: running and ending it, its progress and resource usage, and the report of its exit."""
