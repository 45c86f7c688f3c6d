"""PPIs as English sentences, after the linguistic patterns of PPINOT: written and read.

phrases, telling        the model in words: cases; aggregations, scopes, PPIs
words, cursor           the words of a sentence, and going through them
spans, substitution     where expressions among them end; other names in expressions
naming, conditions      activities and attributes; conditions on events and instants
foreign                 what only ppinot4py says so
durations, nouns        measures of a case that stand on their own
quantities, comparisons, formulas   … and what is made of them
statements              what is so in a case
measures, tails         measures of any kind, and what is said behind an aggregation
scopes, parse           scopes; whole sentences
template                PPINOT's template, written
lines, blocks, targets, releases, template_reading   … and read
"""

from pappi.ppinot.sentences.cursor import PPINOT4PY, Reading
from pappi.ppinot.sentences.parse import parse_measure, parse_scope, parse_sentence
from pappi.ppinot.sentences.telling import phrase, sentence
from pappi.ppinot.sentences.template import write_template
from pappi.ppinot.sentences.template_reading import read_template

__all__ = [
    "PPINOT4PY",
    "Reading",
    "parse_measure",
    "parse_scope",
    "parse_sentence",
    "phrase",
    "read_template",
    "sentence",
    "write_template",
]
