"""Smoothing of released series: what the periods say about each other, at no cost.

likelihood  one release by itself: how likely it is for each possible answer, and its interval
posterior   the model: the posterior of each period, given all of them
smoothing   a released series, smoothed
"""

from pappi.series.smoothing import smoothed, smoothed_all, smoothed_values, whole_id
