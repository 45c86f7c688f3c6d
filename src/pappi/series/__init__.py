"""Smoothing of released series: what the periods say about each other, at no cost.

likelihood  how likely one release is, for each possible answer
per_period  the interval of each period by its own release
posterior   the model: the posterior of each period, given all of them
smoothing   a released series, smoothed
"""

from pappi.series.smoothing import smoothed, smoothed_all, smoothed_values, whole_id
