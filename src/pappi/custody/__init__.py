"""The owner's door: import, declare, look at the log, see exact values."""
