"""Sentences in everyday words, read by the public names of a log: ranked readings, never a guess.

lexicon   the words people use about processes
names     the words of a sentence, how alike two of them are, and which names of a log they may mean
slots     what can stand anywhere: target, period, groups, unit, and what is shown of the figures
clauses   conditions on a case, instants, times
readings  what a sentence measures; its readings, ranked, with what each assumes

A sentence is cut at its marks ("from", "that", "out of") in every way that makes sense; each part
is matched with the names; how well the names fit and how many words are left over ranks the
readings. No data is read, and no word is dropped without notice.
"""

from pappi.ppinot.understanding.readings import Reading, Understanding, understand
