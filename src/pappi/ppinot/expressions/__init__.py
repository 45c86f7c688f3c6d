"""The closed expression grammar: parsed, typed, total, and never executed as code."""
