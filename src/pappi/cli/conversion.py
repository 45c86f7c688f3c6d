"""What `pappi ppi convert` says about a conversion, and how it writes the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pappi.errors import DefinitionError, UsageError
from pappi.ppinot.java.writing import ignored_by_java
from pappi.ppinot.model import Catalogue
from pappi.ppinot.notations import Notation, parse_definitions


def remarks_on(catalogue: Catalogue, text: str, notation: str) -> Iterator[str]:
    """What a reader of the text should know: what it lost, and what Java would not see."""
    chosen = Notation(notation)
    changed = _changed(catalogue, text, chosen)
    if changed:
        yield f"warning: read back, {', '.join(changed)} would not be the same"
    ignored = ignored_by_java(catalogue) if chosen is Notation.JAVA else ()
    if ignored:
        fields = ", ".join(ignored)
        yield f"note: Java PPINOT does not know the fields {fields}, and would ignore them"


def _changed(catalogue: Catalogue, text: str, notation: Notation) -> list[str]:
    """The PPIs that the text does not give back as they were."""
    try:
        again = parse_definitions(text, notation, "<output>", catalogue.log).catalogue
    except DefinitionError:
        again = Catalogue(catalogue.log, ())
    same = {ppi.id: ppi for ppi in again.ppis}
    return [f"'{ppi.id}'" for ppi in catalogue.ppis if same.get(ppi.id) != ppi]


def save(text: str, path: Path, *, force: bool) -> None:
    """Writes a file; one that is there already only if that is wanted."""
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        hint = "overwrite it with --force"
        raise UsageError(f"{path} is there already", hint=hint) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'it cannot be written'}") from None
