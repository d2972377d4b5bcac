"""Search against BM25 written out in plain Python, over small random collections."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from convqa.domain import Hit, Passage, Query, Ranking
from convqa.stores.address import Address
from convqa.stores.base import SearchParams
from convqa.stores.embedded.engine import create, open_collection
from convqa.text.analysis import analyzer, weigh


def at(folder):
    return Address(url=str(folder))


TOKENS = analyzer("en").tokens


def lucene_length(length):
    """SmallFloat.byte4ToInt(intToByte4(length)), bit by bit."""
    if length < 24:
        return length
    bits = (length - 24).bit_length()
    return length if bits < 4 else 24 + ((length - 24) >> (bits - 4) << (bits - 4))


def naive_bm25(documents, weights, k1, b):
    """Scores of token lists, by Lucene's formula without (k1 + 1)."""
    filled = [tokens for tokens in documents.values() if tokens]
    average = sum(map(len, filled)) / len(filled) if filled else 1
    scores = {}
    for id, tokens in documents.items():
        counts, score = Counter(tokens), 0.0
        for token, weight in weights.items():
            df = sum(token in each for each in filled)
            tf = counts[token]
            if tf:
                idf = math.log(1 + (len(filled) - df + 0.5) / (df + 0.5))
                score += weight * idf * tf / (tf + k1 * (1 - b + b * lucene_length(len(tokens)) / average))
        scores[id] = score
    return scores


def naive_search(passages, query, k, params):
    weights = weigh(query, analyzer("en"), params.stopwords)
    k1, b = 0.82 if params.k1 is None else params.k1, 0.68 if params.b is None else params.b
    if params.title_weight is None:
        scores = naive_bm25({p.id: TOKENS(p.title) + TOKENS(p.text) for p in passages}, weights, k1, b)
    else:
        text = naive_bm25({p.id: TOKENS(p.text) for p in passages}, weights, k1, b)
        title = naive_bm25({p.id: TOKENS(p.title) for p in passages}, weights, k1, b)
        scores = {id: text[id] + params.title_weight * title[id] for id in text}
    accepted = [
        p
        for p in passages
        if all(any(same(p.meta.get(name), value) for value in values) for name, values in (params.filter or {}).items())
    ]
    return Ranking(Ranking.of([Hit(p.id, scores[p.id]) for p in accepted if scores[p.id] > 0]).hits[:k])


def same(found, wanted):
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


words = st.sampled_from(["rome", "roman", "bridges", "bridge", "the", "of", "old", "wall", "walls", "Zoë", "river"])
repeated = st.builds(lambda word, times: " ".join([word] * times), words, st.sampled_from([1, 1, 2, 15]))
texts = st.lists(repeated, min_size=1, max_size=12).map(" ".join)
metas = st.dictionaries(st.sampled_from(["year", "kind"]), st.sampled_from([1, 2.5, True, "1", "a"]), max_size=2)
titles = st.lists(words, max_size=15).map(" ".join)
bodies = st.tuples(texts, titles, metas)
queries = st.builds(Query, texts, st.lists(st.tuples(words, st.sampled_from([0.3, 0.5, 2.0])), max_size=3).map(tuple))
searches = st.builds(
    SearchParams,
    k1=st.sampled_from([None, 0.0, 0.82, 2.0]),
    b=st.sampled_from([None, 0.0, 0.4, 1.0]),
    title_weight=st.sampled_from([None, 0.0, 0.5, 3.0]),
    stopwords=st.sampled_from(["default", "long"]),
    filter=st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(["year", "kind"]),
            st.lists(st.sampled_from([1.0, 2.5, True, "1", "a"]), max_size=2).map(tuple),
        ),
    ),
)


# No shrinking: every example makes files.
@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    bodies=st.lists(bodies, min_size=1, max_size=12),
    split=st.integers(0, 12),
    deleted=st.sets(st.integers(0, 11)),
    asked=st.lists(st.tuples(queries, searches, st.integers(1, 8)), min_size=1, max_size=12),
)
def test_search_equals_plain_bm25_after_two_adds_and_a_delete(bodies, split, deleted, asked):
    passages = [Passage(f"p{n:02}", text, title, "", meta) for n, (text, title, meta) in enumerate(bodies)]
    kept = [passage for n, passage in enumerate(passages) if n not in deleted]
    with TemporaryDirectory() as folder:
        place = Path(folder) / "collection"
        with create(at(place), "en") as store:
            store.add(passages[:split])
        store = open_collection(at(place))
        store.add(passages[split:])
        store.commit()
        gone = [passage.id for n, passage in enumerate(passages) if n in deleted]
        if gone:
            store.delete(gone)
            store.commit()
        found = [store.search([query], k, params, texts=0)[0] for query, params, k in asked]
        store.close()
    for (query, params, k), ranking in zip(asked, found, strict=True):
        expected = naive_search(kept, query, k, params)
        assert [hit.id for hit in ranking.hits] == [hit.id for hit in expected.hits]
        assert [hit.score for hit in ranking.hits] == pytest.approx([hit.score for hit in expected.hits], rel=1e-6)
