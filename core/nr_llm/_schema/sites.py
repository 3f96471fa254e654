"""A site is where a type stands while it is read: for messages, for names, and to notice that it repeats itself."""

from __future__ import annotations

from typing import ForwardRef

import attrs

from nr_llm._schema.scopes import Scope
from nr_llm.errors import InvalidSchemaError


@attrs.frozen(eq=False)
class Site:
    """
    A place in a signature.

    Args:
        path: The place, such as ``search(filters).since``.
        scope: Where its annotation was written.
        entered: The classes and names around it, outermost first.
    """

    path: str
    scope: Scope
    entered: tuple[object, ...] = ()

    def at(self, key: str, scope: Scope) -> Site:
        """Return the site of a named part."""
        return attrs.evolve(self, path=f"{self.path}.{key}", scope=scope)

    def inside(self, mark: str) -> Site:
        """Return the site of an item, marked such as ``[]``."""
        return attrs.evolve(self, path=self.path + mark)

    def entering(self, thing: object, name: str) -> Site:
        """
        Return the site inside a class or named type.

        Raises:
            InvalidSchemaError: We are inside it already, and a schema without references never ends.
        """
        if thing in self.entered:
            raise self.error(f"{name} contains itself", fix="take Any and look into it in the tool")
        return attrs.evolve(self, entered=(*self.entered, thing))

    def resolved(self, hint: str | ForwardRef) -> object:
        """
        Return what an annotation that is still text means.

        Raises:
            InvalidSchemaError: It names something that is not known, or is no annotation.
        """
        text = hint if isinstance(hint, str) else hint.__forward_arg__
        try:
            return self.scope.resolve(text)
        except NameError as error:
            raise self.error(
                f"annotation {text!r}: {error}",
                fix="define the name before the tool and import it at run time, not under TYPE_CHECKING",
            ) from error
        except Exception as error:
            raise self.error(f"annotation {text!r} cannot be read: {error}", fix="correct it") from error

    def error(self, problem: str, *, fix: str) -> InvalidSchemaError:
        """Return the error that says what is wrong here and how to mend it."""
        return InvalidSchemaError(f"{problem}; {fix}", path=self.path)
