"""The files of all replicas of a cluster as one set."""
