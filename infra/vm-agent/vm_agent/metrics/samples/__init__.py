"""One reported value: its name, its time, and what is kept of it apart from its series."""
