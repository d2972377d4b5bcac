"""The replies that checkers are measured on: each sentence has its verdict, and a checker is counted right."""

from __future__ import annotations


def all_alike(score, pairs, language):
    return [score] * len(pairs)


def test_every_sentence_of_every_reply_has_a_verdict_and_the_extremes_are_counted_as_they_are():
    import replies

    cases = replies.read_yaml(replies.FILE, "replies")
    kinds = set()
    for score, kept in ((1.0, True), (0.0, False)):
        found = [
            one for case in cases for one in replies.judged(case, lambda pairs, _, score=score: [score] * len(pairs))
        ]
        kinds |= {one.kind for one in found}
        assert all(one.kept is kept for one in found) and {one.supported for one in found} == {True, False}
    assert len(found) >= 100 and {one.language for one in found} == {"en", "de", "pl"}
    assert kinds == {"copied", "paraphrase", "inferred", "item", "merged", "invented", "outside", "number", "swapped",
                     "negated", "overstated", "language"}  # fmt: skip
    assert replies.share(found[:8]) == "1.00 [0.68, 1.00] of 8" and replies.share([]) == "-"
