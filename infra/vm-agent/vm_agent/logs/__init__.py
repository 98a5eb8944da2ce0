"""From a program's output to Cloud Logging: blocks, masking of secrets, lines, folding, the complete log and delivery."""
