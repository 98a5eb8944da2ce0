"""Credentials in URLs, which belong into neither logs nor keys."""

import re


def without_credentials(text: str) -> str:
    """Removes `user:password@` from every URL in the text."""
    return re.sub(r'//[^/@\s]*@', '//', text)
