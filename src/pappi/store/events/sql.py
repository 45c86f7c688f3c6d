"""Names as SQL expressions, always quoted: an attribute may be called anything."""

from __future__ import annotations

from sqlglot import exp


def column(name: str, of: str | None = None) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=of, quoted=True)


def table(name: str, catalog: str | None = None) -> exp.Table:
    identifier = exp.to_identifier(name, quoted=True)
    if catalog is None:
        return exp.Table(this=identifier)
    return exp.Table(
        this=identifier,
        db=exp.to_identifier("main", quoted=True),
        catalog=exp.to_identifier(catalog, quoted=True),
    )


def attach(path: str, catalog: str) -> str:
    name = exp.to_identifier(catalog, quoted=True).sql("duckdb")
    return f"ATTACH {exp.Literal.string(path).sql('duckdb')} AS {name}"


def detach(catalog: str) -> str:
    return f"DETACH {exp.to_identifier(catalog, quoted=True).sql('duckdb')}"
