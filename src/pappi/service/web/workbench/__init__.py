"""The analyst's pages."""

from pappi.service.web.workbench.adding import add_workbench

__all__ = ["add_workbench"]
