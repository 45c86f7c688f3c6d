"""PaPPI answers process performance indicators with differential privacy."""

__version__ = "0.1.0"
