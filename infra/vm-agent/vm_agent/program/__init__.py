"""The program as a process: running and ending it, its resource usage, and the report of its exit."""
