"""What a collection needs, computed: by the formulas that Elastic gives."""

from __future__ import annotations

import pytest


def test_vectors_of_54_million_passages_by_elastics_formulas():
    import needs

    sizes = {kind: 54e6 * needs.vector_bytes(kind) / 1e9 for kind in ("float32", "int8", "int4", "bit")}
    assert sizes == pytest.approx({"float32": 82.9, "int8": 21.0, "int4": 10.6, "bit": 3.35}, rel=0.01)


def test_needs_grow_with_the_collection_and_with_its_passages():
    import needs

    small, twice, longer = (
        {need.name: need for need in needs.needs(passages, 1000, size)}
        for passages, size in ((10**6, 674), (2 * 10**6, 674), (10**6, 2500))
    )
    for name, need in small.items():
        assert twice[name].index == pytest.approx(2 * need.index)
        assert longer[name].index > 2 * need.index
    assert small["BM25, a folder"].disk == pytest.approx(1.406)
    assert longer["BM25, a folder"].turns == small["BM25, a folder"].turns
