"""PPINOT JSON: the objects of PPINOT's meta-model as its Java reference implementation writes them.

BPMN diagrams draw the same objects. What Java has is read and written in its own words: `kind`,
states as wrapper objects, `SimpleTimeFilter`, `refMin`. What it lacks stands in fields of our own,
as far as possible in the words and shapes of the catalogue notation, so that every catalogue can be
written and read back. Java ignores fields it does not know; so do we. But a feature that would
change a value and that we do not have is a problem, never ignored.

fields       looking things up in objects, exactly, and reporting what does not fit
conditions   conditions on events, states of activities, expressions in Java's words
measures     measures of one case and of many, units of time and schedules
documents    PPIs with their scopes and targets, and whole documents

Each module reads and writes what it is about.
"""

from pappi.ppinot.notations.java.documents import (
    CHANGING,
    ignored_by_java,
    read_java,
    write_java,
)
