"""Bounds of what one call may ask, where they cost nothing to know."""

from __future__ import annotations

MOST_FILTERS = 5
"""Filters of one call (the reference system's figure)."""

MOST_OFFSET = 10_000
"""Rows that can be skipped: enough to look around, too few to copy a table page by page (the reference's figure)."""

MOST_FIELDS = 200
"""Columns of one statement; each is read as two, and SQLite's own limit is 2,000."""

MOST_CANDIDATES = 20_000
"""Rows that a search looks at after the database has found them."""

SHORTEST_TEXT, LONGEST_TEXT = 2, 100
"""Characters of a text that is searched for (the reference system's figures)."""

MOST_CHOICES = 50
"""Values of one `in`."""

MOST_WRITTEN = 15
"""Fields that one call writes: a preview has twenty lines, and a person sees each of them."""

WRITTEN_BYTES = 100_000
"""Bytes of all values that one call writes; whoever approves it has to read them."""
