"""Environments of third-party packages, kept between jobs in a bucket."""
