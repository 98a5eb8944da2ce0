"""The program's files: finding what changed, copying consistent states of it, and saving them."""
