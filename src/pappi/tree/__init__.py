"""The function composition tree of a PPI, and its admissible sets."""
