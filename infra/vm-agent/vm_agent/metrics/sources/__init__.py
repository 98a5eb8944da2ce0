"""Where values are read: files, event files, databases, printed lines, and objects in the bucket."""
