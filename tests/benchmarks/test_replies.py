"""The replies that checkers are measured on: each sentence has its verdict, and a checker is counted right."""

from __future__ import annotations


def test_every_sentence_of_every_reply_has_a_verdict():
    import replies

    cases = replies.read_yaml(replies.FILE, "replies")
    kinds = set()
    found = [one for case in cases for one in replies.judged(case)]
    kinds |= {one.kind for one in found}
    assert {one.kept for one in found} == {one.supported for one in found} == {True, False}
    assert len(found) >= 100 and {one.language for one in found} == {"en", "de", "pl"}
    assert kinds == {"copied", "paraphrase", "inferred", "item", "merged", "invented", "outside", "number", "swapped",
                     "negated", "overstated", "language"}  # fmt: skip
    assert replies.share([]) == "-"
