"""The exact quantities everything else is written in.

Epsilon, bounds, durations, units, periods, adjacency, the public vocabulary of a
log, and the answer that leaves the checkpoint. Nothing here knows of logs,
databases or randomness, and nothing that privacy depends on is a float.
"""
