"""What a replica needs before its program starts: packages, environment variables and secrets."""
