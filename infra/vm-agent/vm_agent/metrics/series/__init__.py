"""The history of all values, bounded, and its upload to the job directory."""
