"""Released values over time: what the periods of a series say about each other, for free.

likelihood  how likely one release is, for each possible answer
per_period  the interval of each period by its own release
posterior   the model: what all periods together say about each of them
smoothing   a released series, smoothed
"""

from pappi.series.smoothing import smoothed, smoothed_all, smoothed_values, whole_id

__all__ = [
    "smoothed",
    "smoothed_all",
    "smoothed_values",
    "whole_id",
]
