"""The closed expression grammar: parsed, typed, total, and never executed as code.

nodes       the abstract syntax, and ways to walk through it
grammar     text into nodes, with the exact place of every problem, and nodes into canonical text
kinds       what kind of value an expression has, and what is wrong with it
evaluation  the value of an expression, or the range it lies in
"""
