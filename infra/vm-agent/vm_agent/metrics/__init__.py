"""What the program reports of its training: the sources of its metrics, their last values, and their history."""
