"""Admissible sets are what the paper's three conditions say, no more and no fewer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from pappi.ppinot import (
    AggregatedMeasure,
    Aggregation,
    Binary,
    CountMeasure,
    DataMeasure,
    DerivedMultiInstance,
    Inner,
    MultiInstance,
    Name,
    Node,
    Occurs,
    Operator,
    TextLiteral,
    TruthLiteral,
    admissible_sets,
    composition_tree,
    leaves,
)
from pappi.ppinot.model import Grouping
from pappi.ppinot.tree import Leaf


def count(activity: str) -> CountMeasure:
    return CountMeasure(Occurs(Binary(Operator.EQUAL, Name("activity"), TextLiteral(activity))))


def total(activity: str) -> AggregatedMeasure:
    return AggregatedMeasure(Aggregation.SUM, count(activity))


def paths(sets: Iterator[tuple[Inner, ...]]) -> set[frozenset[str]]:
    return {frozenset(node.path for node in chosen) for chosen in sets}


def every_node(node: Node) -> Iterator[Node]:
    yield node
    if isinstance(node, Inner):
        for child in node.children:
            yield from every_node(child)


def by_the_paper(root: Inner) -> set[frozenset[str]]:
    """Brute force over all subsets of F, testing the three conditions literally."""
    nodes = list(every_node(root))
    trace_based = {node.path for node in nodes if isinstance(node, Leaf)}
    covered = {node.path: {leaf.path for leaf in leaves(node)} for node in nodes}

    def covers(chosen: tuple[Node, ...]) -> bool:
        return trace_based <= set().union(*(covered[node.path] for node in chosen))

    found = set()
    for size in range(1, len(nodes) + 1):
        for chosen in combinations(nodes, size):
            multi_instance = all(isinstance(node, Inner) for node in chosen)
            minimal = not any(
                covers(smaller) for k in range(size) for smaller in combinations(chosen, k)
            )
            if multi_instance and covers(chosen) and minimal:
                found.add(frozenset(node.path for node in chosen))
    return found


aggregated = st.builds(
    AggregatedMeasure,
    function=st.sampled_from(Aggregation),
    base=st.just(count("A")),
    filter=st.none() | st.just(count("B")),
    grouping=st.none() | st.just(Grouping(DataMeasure("channel"), ("web", "phone"))),
)


def derived(children: st.SearchStrategy[MultiInstance]) -> st.SearchStrategy[MultiInstance]:
    return st.lists(children, min_size=1, max_size=3).map(
        lambda measures: DerivedMultiInstance(
            TruthLiteral(value=True),
            tuple((f"v{i}", measure) for i, measure in enumerate(measures)),
        )
    )


measures = st.recursive(aggregated, derived, max_leaves=4)


def small(measure: MultiInstance) -> bool:
    return sum(1 for _ in every_node(composition_tree(measure))) <= 13


@given(measures.filter(small))
def test_admissible_sets_of_random_trees_equal_brute_force(measure: MultiInstance) -> None:
    root = composition_tree(measure)
    found = list(admissible_sets(root))
    assert len(found) == len(paths(iter(found)))
    assert paths(iter(found)) == by_the_paper(root)


def test_the_papers_example_has_exactly_its_two_admissible_sets() -> None:
    rejected_share = DerivedMultiInstance(
        Binary(Operator.DIVIDE, Name("sum1"), Name("sum2")),
        (("sum1", total("RejC")), ("sum2", total("RecC"))),
    )
    root = composition_tree(rejected_share, "r")
    expected = {frozenset({"r"}), frozenset({"r.sum1", "r.sum2"})}
    assert paths(admissible_sets(root)) == expected == by_the_paper(root)


def test_filters_and_group_keys_are_leaves_that_must_be_covered() -> None:
    measure = AggregatedMeasure(
        Aggregation.MEAN,
        count("A"),
        filter=count("B"),
        grouping=Grouping(DataMeasure("channel"), ("web",)),
    )
    root = composition_tree(measure)
    assert [leaf.path for leaf in leaves(root)] == ["ppi.base", "ppi.filter", "ppi.group"]
    assert paths(admissible_sets(root)) == {frozenset({"ppi"})}
