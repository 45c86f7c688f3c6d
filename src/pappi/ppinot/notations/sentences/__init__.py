"""PPIs as English sentences, after the linguistic patterns of PPINOT: written and read.

render         the model in words
words          the words of a sentence, and going through them
expressions    the parts that are no words of it: expressions, amounts, comparisons
events         activities, conditions on events, instants; counts, attributes and durations
measures       measures of any kind: formulas, statements, aggregations
parse          whole sentences, with their scope
template       whole catalogues: PPINOT's template, with units, targets and releases

What is read is what is written here, what `str()` of a ppinot4py measure says, and the usual ways
in which people say the same: `docs/sentences.md`.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.ppinot.notations.sentences.render import phrase, sentence

if TYPE_CHECKING:
    from pappi.ppinot.notations.sentences.parse import parse_measure, parse_scope, parse_sentence
    from pappi.ppinot.notations.sentences.template import read_template, write_template
    from pappi.ppinot.notations.sentences.words import PPINOT4PY, Reading
else:
    __getattr__ = lazy_imports(__name__)

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
