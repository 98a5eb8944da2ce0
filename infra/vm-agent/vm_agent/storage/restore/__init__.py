"""The way back: the files of earlier attempts, or of an earlier moment."""
