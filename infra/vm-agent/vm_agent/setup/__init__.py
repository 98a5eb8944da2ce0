"""The things that a replica needs before its program starts: packages, environment variables and secrets."""
