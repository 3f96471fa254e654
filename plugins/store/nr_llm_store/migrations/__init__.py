"""Alembic's folder: one revision for each change of the tables."""
