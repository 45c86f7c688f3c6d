"""Sentences in everyday words, read by the public names of a log: ranked readings, never a guess.

words     the words of a sentence, and how alike two of them are
lexicon   the words people use about processes
names     activities, attributes and values that some words may mean
slots     what can stand anywhere: target, period, groups, unit, and what is shown of the figures
clauses   conditions on a case, instants, times
frames    what is measured: a time, a share, a number, how often, an attribute
readings  the readings of a whole sentence, ranked, with what each assumes

A sentence is cut at its marks ("from", "that", "out of") in every way that makes sense; each part
is matched with the names; how well the names fit and how many words are left over ranks the
readings. No data is read, and no word is dropped without notice.
"""

from pappi.ppinot.understanding.readings import Reading, Understanding, understand
