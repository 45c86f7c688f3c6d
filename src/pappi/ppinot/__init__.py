"""PPINOT: what a process performance indicator is, and how it is written.

`model` is the one typed, immutable meta-model; `expressions` the closed grammar
for conditions and formulas; `catalogue` the YAML/JSON notation; `checks` finds
every problem of a definition against a log's public vocabulary.
"""
