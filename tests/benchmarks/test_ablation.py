from __future__ import annotations

from convqa.domain import Hit, Ranking, Turn, TurnId


def test_scores_are_of_whole_sets_and_of_odd_conversations_where_the_rest_was_tuned_on():
    from ablation import add
    from conversation_sets import Case

    found = [Case(Turn(TurnId(number, 1), "q"), ("a", "b"), "") for number in (1, 2)]
    rankings = [Ranking((Hit("x", 2.0), Hit("a", 1.0))), Ranking((Hit("a", 2.0), Hit("b", 1.0)))]
    columns = {}
    for name in ("inscit_dev", "cast2020"):
        add(columns, name, found, rankings)
    assert {name: (scores.mrr, scores.recall) for name, scores in columns.items()} == {
        "inscit_dev": ([0.5, 1.0], [0.5, 1.0]),
        "inscit_dev, odd": ([0.5], [0.5]),
        "cast2020": ([0.5, 1.0], [0.5, 1.0]),
    }


def test_the_gap_is_between_the_question_and_the_human_rewrite():
    from ablation import Scores, gap

    rows = {label: {"cast2020": Scores([score])} for label, score in (("copy", 0.5), ("edit", 0.65), ("human", 0.8))}
    assert gap(rows) == {"copy": 0.0, "edit": 0.5, "human": 1.0}
    assert gap({"edit": rows["edit"]}) == {}
