"""What is protected, and what counts as a neighbouring log."""

from __future__ import annotations

from enum import StrEnum


class Adjacency(StrEnum):
    """Which two logs a guarantee compares. An explicit parameter of every mechanism.

    ADD_REMOVE  one case more or less; the number of cases stays private.
    REPLACE     one case's content differs; the number of cases in a period is public.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class PrivacyUnit(StrEnum):
    """Whose influence the guarantee bounds."""

    CASE = "case"
