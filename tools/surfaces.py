"""The contract of import-linter that packages have a surface: see `.importlinter`."""

from __future__ import annotations

from typing import Any

from importlinter import Contract, ContractCheck, output


class SurfaceContract(Contract):
    """What a package offers is in its `__init__`; nobody imports past it into another's modules."""

    def check(self, graph: Any, verbose: bool) -> ContractCheck:  # noqa: FBT001, ANN401, ARG002 - theirs
        """Every import between packages whose target lies below a package's surface."""
        root = self.session_options["root_packages"][0]
        past = sorted(
            (importer, imported)
            for importer in graph.modules
            for imported in graph.find_modules_directly_imported_by(importer)
            if _package(imported, root) not in {_package(importer, root), imported, ""}
        )
        return ContractCheck(kept=not past, metadata={"past": past})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """One line for each import that goes too deep."""
        for importer, imported in check.metadata["past"]:
            output.print_error(f"{importer} imports {imported}: past its package's surface")


def _package(module: str, root: str) -> str:
    """The package of the root a module is in; nothing for what is not ours.

    >>> _package("pappi.ppinot.model", "pappi"), _package("numpy.linalg", "pappi")
    ('pappi.ppinot', '')
    """
    return ".".join(module.split(".")[:2]) if module.split(".", maxsplit=1)[0] == root else ""
