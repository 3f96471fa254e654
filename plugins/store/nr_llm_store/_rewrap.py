"""Encrypts stored live state anew under the first key, a few runs at a time, while runs go on."""

from __future__ import annotations

from typing import Final

from nr_llm_store import _statements
from nr_llm_store._database import Database
from nr_llm_store._seal import Seal, message_of, state_of

BATCH: Final = 200
"""Runs of one step: a writer waits no longer for it than for a few of its own."""


def rewrap(database: Database, seal: Seal) -> int:
    """
    Encrypt what is under another key, or plain, with the first one; with no key nothing is done.

    Returns:
        How many values were.

    Raises:
        StoreError: A value cannot be decrypted; those before it are done.
    """
    done, after = 0, ""
    states = database.statement("states", _statements.states_of_runs)
    while seal.first is not None:
        with database.reading() as session:
            batch = session.rows(states, {"_after": after, "_limit": BATCH})
        if not batch:
            break
        for run_id, state in batch:
            done += _run(database, seal, run_id, state)
        after = batch[-1][0]
    return done


def _run(database: Database, seal: Seal, run_id: str, state: str) -> int:
    replace = database.statement("replace state", _statements.replace_state)
    replace_message = database.statement("replace message", _statements.replace_message)
    messages = database.statement("stored messages", _statements.stored_messages)
    with database.writing() as session:
        done = 0
        if seal.stale(state):
            text = _anew(seal, state, state_of(run_id))
            # A change that was written meanwhile is under the first key already.
            done += session.run(replace, {"_run_id": run_id, "_old": state, "_text": text})
        for number, old in session.rows(messages, {"_run_id": run_id}):
            if seal.stale(old):
                text = _anew(seal, old, message_of(run_id, number))
                done += session.run(replace_message, {"_run_id": run_id, "_number": number, "_old": old, "_text": text})
    return done


def _anew(seal: Seal, text: str, purpose: str) -> str:
    return seal.close(seal.open(text, purpose), purpose)
