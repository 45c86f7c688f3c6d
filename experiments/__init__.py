"""The paper, re-run: its evaluation with its own mechanisms and with ours, side by side.

deviations        where the authors' code departs from the paper's text, by name
intervals         scored intervals, as the text defines them; authors: as the code does
published         the paper's mechanisms for aggregated measures
published_sample  … and for derived ones
published_laws    their laws, for the exact audit
guarantees        what every mechanism really guarantees
shared_data       data of others, if it is here; samples: for the controlled experiments
seeded            chances that can be repeated
boxes, monthly    what many runs gave: at one point, month by month
controlled        the controlled experiments; reproduction: against the authors' program
sepsis…           the case study: the log, theirs, ours
pripel            the same on anonymised logs
drawing, …_chart  figures; page: the report
sections          what an experiment hands over; catalogue: all of them; running: one run

Simulations for researchers, with seeds and floats. Nothing here is a release, and nothing that
releases can reach it.
"""
