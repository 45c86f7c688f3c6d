"""Event logs in a workspace's DuckDB file.

file       the file itself: names, locking, changing it all or nothing, opening it for reading
importing  a whole log into a canonical event table
parts      a log that grows, part by part; erasing cases
lookup     cases by anchor, person or id; whether a log's events can be read
"""
