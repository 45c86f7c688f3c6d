"""What to privatise, with which mechanism, at what price: from public facts only.

Nothing here can read an event. A plan that looked at the data would leak it by
its very choice.
"""
