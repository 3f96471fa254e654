"""On whose behalf a run acts, and what they may do with a run that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

import attrs

from nr_llm._json import JSON

T = TypeVar("T", bound=StrEnum)


class ActorKind(StrEnum):
    """What acts."""

    USER = "user"
    SERVICE = "service"
    ANONYMOUS = "anonymous"


class Scope(StrEnum):
    """What a service account was allowed, one for each thing that is asked of a stored run; none implies another."""

    READ = "runs:read"
    CANCEL = "runs:cancel"
    APPROVE = "runs:approve"


def _words(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(value) for value in values))


def _scopes(values: Iterable[Scope | str]) -> tuple[Scope, ...]:
    return tuple(dict.fromkeys(Scope(value) for value in values))


@attrs.frozen
class Actor:
    """
    A person or service.

    Args:
        id: How the host names them.
        admin: Whether tools for administrators, and the runs of others, are open to them; it counts for users alone.
        kind: What they are; `service` makes a service account.
        groups: Names of groups they are in.
        scopes: What a service account may do with runs; without one, nothing.
        approver: Whether a user may decide on the runs of others.

    Raises:
        ValueError: There is no such kind or scope.
    """

    id: str
    admin: bool = attrs.field(default=False, kw_only=True)
    kind: ActorKind = attrs.field(default=ActorKind.USER, converter=ActorKind, kw_only=True)
    groups: tuple[str, ...] = attrs.field(default=(), converter=_words, kw_only=True)
    scopes: tuple[Scope, ...] = attrs.field(default=(), converter=_scopes, kw_only=True)
    approver: bool = attrs.field(default=False, kw_only=True)

    @classmethod
    def service(cls, name: str, *, scopes: Iterable[Scope | str] = ()) -> Actor:
        """Return a service account."""
        return cls(name, kind=ActorKind.SERVICE, scopes=tuple(scopes))

    @classmethod
    def anonymous(cls) -> Actor:
        """Return nobody in particular, who may do nothing with stored runs."""
        return cls("", kind=ActorKind.ANONYMOUS)

    def may(self, scope: Scope, *, owner: Actor | None) -> bool:
        """
        Return whether they may do something with a stored run.

        Args:
            scope: What is to be done.
            owner: On whose behalf the run acts, or None if nobody was named.
        """
        if self.kind is not ActorKind.USER:
            return self.kind is ActorKind.SERVICE and scope in self.scopes
        return self.administers or self.began(owner) or (scope is Scope.APPROVE and self.approver)

    @property
    def administers(self) -> bool:
        """Whether they are an administrator: a user who is one, never a service account or nobody in particular."""
        return self.admin and self.kind is ActorKind.USER

    def began(self, owner: Actor | None) -> bool:
        """Return whether a run of `owner` is this user's own; a service account owns none."""
        return owner is not None and owner.kind is self.kind is ActorKind.USER and owner.id == self.id

    def to_dict(self) -> dict[str, JSON]:
        """Return the actor as JSON, for a store."""
        return {
            "id": self.id,
            "admin": self.admin,
            "kind": str(self.kind),
            "groups": list(self.groups),
            "scopes": [str(scope) for scope in self.scopes],
            "approver": self.approver,
        }

    @classmethod
    def from_dict(cls, value: object) -> Actor | None:
        """
        Read what `to_dict` gave; None stays None.

        Whatever is malformed gives less, never more: an unknown scope is dropped, an unknown kind is anonymous.
        """
        if value is None:
            return None
        given = value if isinstance(value, Mapping) else {}
        kind = _member(ActorKind, given.get("kind"))
        if kind is None or not isinstance(given.get("id"), str):
            return cls.anonymous()
        return cls(
            given["id"],
            admin=given.get("admin") is True,
            kind=kind,
            groups=tuple(name for name in _listed(given.get("groups")) if isinstance(name, str)),
            scopes=tuple(scope for name in _listed(given.get("scopes")) if (scope := _member(Scope, name))),
            approver=given.get("approver") is True,
        )


def _member(kind: type[T], value: object) -> T | None:
    return next((member for member in kind if member == value), None)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
