"""Reads PostgreSQL, on which the same tools stand as on SQLite."""
