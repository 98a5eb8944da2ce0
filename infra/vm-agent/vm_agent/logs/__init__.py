"""From a program's output to Cloud Logging: lines, masking of secrets, log entries and their delivery."""
