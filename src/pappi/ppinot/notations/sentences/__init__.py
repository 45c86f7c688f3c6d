"""PPIs as English sentences, after the linguistic patterns of PPINOT: written and read.

words          the words of a sentence, and going through them
patterns       the small language of its description, which reads and writes
phrases        expressions, names and amounts; conditions on events, instants
measures       measures of one case and of many, scopes
template       whole catalogues: PPINOT's template, with units, targets and releases

What is read is what is written here, and what `str()` of a ppinot4py measure says:
`docs/sentences.md`.
"""

from typing import TYPE_CHECKING

from pappi.lazy import lazy_imports
from pappi.ppinot.notations.sentences.measures import (
    parse_measure,
    parse_sentence,
    phrase,
    sentence,
)
from pappi.ppinot.notations.sentences.words import PPINOT4PY, Dialect

if TYPE_CHECKING:
    from pappi.ppinot.notations.sentences.template import read_template, write_template
else:
    __getattr__ = lazy_imports(__name__)
