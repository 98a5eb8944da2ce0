"""The program's reports of its training: the sources of its metrics, their last values, and their history."""
