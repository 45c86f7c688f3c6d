"""The inbox: events as they were captured, until time is sealed over them.

file     the SQLite file: durable before a commit returns, nothing left of what is deleted
inbox    what is in it for one log: taking in, what is open, what is sealed, removing
reader   the events that are being sealed, as the store reads any log
erased   keyed hashes of what was erased, so that it is not sealed again
"""
