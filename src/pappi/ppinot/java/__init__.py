"""PPINOT JSON: the notation of the Java reference implementation.

What the reference has is read and written in its own words: `kind`, states as wrapper objects,
`SimpleTimeFilter`, `refMin`. What it lacks stands in fields of our own, so that every catalogue
can be written and read back. Java ignores fields it does not know; so do we. But a feature that
would change a value and that we do not have is a problem, never ignored.

fields       looking things up in JSON objects, and reporting what does not fit
numbers      numbers and durations, exactly
states       the states of activities, as transitions of the life cycle in a log
conditions   conditions on events
schedules    `L-VT09:00-18:00`, as working calendars
formulas     in Java a duration is a number of its unit: what becomes of formulas over it
units        the unit a value is in, and the unit it is shown in
mvel         expressions in the words that Java's language shares
measures     measures; case_measures, derived are parts of it
scopes       scopes and targets
indicators   PPIs
reading      documents into catalogues
writing      catalogues into documents; writing_conditions, _measures, _scopes are parts of it
"""

from pappi.ppinot.java.reading import read_java
from pappi.ppinot.java.writing import write_java

__all__ = ["read_java", "write_java"]
