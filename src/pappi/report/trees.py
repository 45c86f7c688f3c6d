"""A PPI in words: its sentence, its functions as a tree, its admissible sets."""

from __future__ import annotations
