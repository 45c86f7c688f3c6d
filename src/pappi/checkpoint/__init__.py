"""The analyst's door: plan, price, preview, charge, release, replay.

Every refusal happens before the charge, and so before any event is read.
"""
