"""PPIs in a BPMN 2.0 model: the `ppiset` extension that Visual PPINOT draws.

elements      XML into the elements of the set, and the names of the model's own elements
connectors    the arrows of the diagram: what a measure is about
translation   measures, connectors and PPIs as the objects of PPINOT JSON

The two notations share one meta-model, so that what the objects mean is said once, in
`pappi.ppinot.java`, and problems carry the line of the XML element.
"""

from __future__ import annotations

from itertools import chain

from pappi.ppinot.bpmn.elements import MAX_SIZE, read_elements
from pappi.ppinot.bpmn.translation import document_of
from pappi.ppinot.catalogue.shapes import Problems
from pappi.ppinot.java.reading import Reading, reading_of
from pappi.ppinot.model import Catalogue

__all__ = ["MAX_SIZE", "bpmn_reading", "read_bpmn"]


def read_bpmn(
    text: str, file: str = "<bpmn>", log: str | None = None, *, lifecycle: bool = True
) -> Catalogue:
    """The catalogue of a BPMN model's PPIs; DefinitionError with every problem in it.

    `log` names the log they are about. Without `lifecycle` every event of it is a completion.
    """
    return bpmn_reading(text, file, log, lifecycle=lifecycle).catalogue


def bpmn_reading(text: str, file: str, log: str | None, *, lifecycle: bool = True) -> Reading:
    problems = Problems()
    model = read_elements(text, file)
    root = document_of(model, file, problems)
    unread = chain.from_iterable(element.unread() for _, element in model.sets)
    return reading_of(root, log, problems, lifecycle=lifecycle, besides=unread)
