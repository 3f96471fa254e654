"""A name nobody has is told with its kind and with names that look alike."""

from __future__ import annotations

from nr_llm.errors import UnknownNameError


def test_kind_name_and_suggestions_are_attributes() -> None:
    """A command line can tell a tool nobody has from a provider nobody has."""
    error = UnknownNameError("tool", "read_fil", known=["read_file", "calculate"], remedy="Install it.")

    assert (error.kind, error.name, error.suggestions) == ("tool", "read_fil", ("read_file",))
    assert str(error) == "There is no tool named 'read_fil'. Did you mean 'read_file'? Install it."
