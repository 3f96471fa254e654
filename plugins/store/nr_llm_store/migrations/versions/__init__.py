"""The revisions, each a file."""
