"""From events to one row per case, in the database where the events live.

Only the two doors, `custody` and `checkpoint`, may import this package: what it
returns is the data itself.
"""
