"""Runs and truths: read as GEval reads them, scored to its numbers, and checked."""

from __future__ import annotations

from collections import defaultdict
from math import log2

import pytest

from convqa.domain import Failure, Hit, Ranking, Response, TurnId
from convqa.errors import InputError
from convqa.evaluation import evaluate, official_text, write_trec
from convqa.metrics.ranking import geval_ndcg
from convqa.tasks.poleval.run import rankings
from convqa.tasks.poleval.task import PolEval


def scored(truth, *lines, path):
    (path / "out.tsv").write_bytes("".join(f"{line}\n" for line in lines).encode())
    return evaluate(truth, path / "out.tsv")


def means(evaluation):
    return {name: summary.mean for name, summary in evaluation.summaries.items()}


def test_gevals_fixture(data):
    folder = data / "poleval2022" / "geval-ndcg"
    expected, out = (rankings(folder / name, "") for name in ("expected.tsv", "out.tsv"))
    rows = zip(expected, out, strict=True)
    assert sum(geval_ndcg(*row, 3) for row in rows) / 4 == pytest.approx(0.711947, abs=5e-7)
    assert means(evaluate(folder, folder)) == {"NDCG@10": pytest.approx(0.744116, abs=5e-7)}


LINES = [
    (b"a\tb", ("a", "b")),
    (b"a b\tc", ("a b", "c")),  # the printed example mixes blanks with TABs
    (b"\ta\t\tb\t", ("", "a", "", "b", "")),
    (b"a\r\tb\r", ("a", "b")),
    (b"a\xff\tb", ("a\ufffd", "b")),
    (b"Result1\tx", ("Result1", "x")),
    (b"\r", ()),
    (b"", ()),
]


@pytest.mark.parametrize(("line", "ids"), LINES)
def test_lines_as_geval_reads_them(tmp_path, line, ids):
    (tmp_path / "out.tsv").write_bytes(b"Result1\tResult2\nx\n" + line + b"\ny")
    assert PolEval().read_run(tmp_path).rankings == (("x",), ids, ("y",))


def test_a_trailing_tab_takes_a_rank_and_a_repeat_does_not(tmp_path, poleval):
    truth = poleval.write(tmp_path / "expected.tsv", "a", "a", "a", "")
    evaluation = scored(truth, "\ta", "x\tx\ta", "x a", "y", path=tmp_path)
    assert evaluation.scores["NDCG@10"].values == (1 / log2(3), 1 / log2(3), 0, 1)
    assert [turn.id.conversation for turn in evaluation.gold.turns] == [1, 2, 3, 4]


def test_sets_and_their_mean(two_sets, tmp_path):
    evaluation = scored(two_sets, "2-0", "x", "x\t1-0", "2-0", path=tmp_path)
    wiki = (1 + 0 + 1 / log2(3)) / 3
    assert means(evaluation) == {
        "NDCG@10": pytest.approx((3 * wiki + 1) / 4),
        "wiki-trivia NDCG@10": pytest.approx(wiki),
        "legal-questions NDCG@10": 1,
        "mean over sets NDCG@10": pytest.approx((wiki + 1) / 2),
    }
    assert official_text(evaluation) == f'{{"NDCG@10": {(1 + 1 / log2(3) + 1) / 4}}}\n'
    by_set = evaluate(two_sets, tmp_path, breakdown=["set"]).breakdowns["set"]
    assert by_set["legal-questions"]["NDCG@10"].mean == 1
    # Without the questions nobody knows the sets.
    (two_sets / "in.tsv").unlink()
    assert means(evaluate(two_sets, tmp_path)) == {"NDCG@10": pytest.approx((3 * wiki + 1) / 4)}


def test_pairs_score_what_they_hold(competition, tmp_path, caplog):
    evaluation = scored(competition, "x\t2-0", "3-0", "", path=tmp_path)
    assert evaluation.scores["NDCG@10"].values == (1 / log2(3), 1)
    assert "left out 1 of 3 questions: they have no relevant passage" in caplog.text
    assert evaluate(competition / "pairs.tsv", tmp_path).summaries == evaluation.summaries
    assert evaluate(competition / "questions.jl", tmp_path).summaries == evaluation.summaries


def test_trec_files_say_the_same(two_sets, tmp_path):
    evaluation = scored(two_sets, "x\t\tx\t2-0", *["q r"] * 3, path=tmp_path)
    run, truth = write_trec(evaluation, tmp_path)
    assert run.read_text().splitlines()[:3] == [
        "wiki-trivia/1_1 Q0 x 1 10.0 convqa",
        "wiki-trivia/1_1 Q0 2-0 2 8.0 convqa",
        "wiki-trivia/2_1 Q0 q%20r 1 10.0 convqa",
    ]
    assert truth.read_text().splitlines()[-1] == "legal-questions/4_1 0 2-0 1"


COUNTS = [(["2-0", "3-0"], 2), (["2-0", "3-0", "1-0", ""], 4), ([], 0)]


@pytest.mark.parametrize(("lines", "count"), COUNTS)
def test_too_few_and_too_many_lines(one_set, competition, tmp_path, lines, count):
    for truth in (one_set, competition):
        with pytest.raises(InputError, match=rf"out\.tsv: expected 3 lines as in .*, got {count}"):
            scored(truth, *lines, path=tmp_path)


def test_the_first_lines_alone(one_set, two_sets, competition, tmp_path):
    """As after run --limit: a run's lines are those of the first questions."""
    (tmp_path / "out.tsv").write_text("1-0\n\n")
    for truth in (one_set, two_sets, competition):
        with pytest.raises(
            InputError, match=r"expected [34] lines as in .*, got 2\. --partial scores only the first questions"
        ):
            evaluate(truth, tmp_path / "out.tsv")
        alone = evaluate(truth, tmp_path / "out.tsv", partial=True)
        whole = evaluate(truth, _padded(truth, tmp_path))
        kept = dict(zip(whole.scores["NDCG@10"].ids, whole.scores["NDCG@10"].values, strict=True))
        column = alone.scores["NDCG@10"]
        assert len(column.ids) == 2 and column.values == tuple(kept[id] for id in column.ids)
    (tmp_path / "out.tsv").write_text("1-0\n" * 9)
    with pytest.raises(InputError, match=r"expected 3 lines as in .*, got 9"):
        evaluate(one_set, tmp_path / "out.tsv", partial=True)


def _padded(truth, folder):
    lines = PolEval().gold(truth).lines
    (folder / "padded").mkdir(exist_ok=True)
    (folder / "padded" / "out.tsv").write_text("1-0\n" + "\n" * (lines - 1))
    return folder / "padded"


def test_a_truth_of_another_length_than_its_questions(one_set, poleval):
    poleval.write(one_set / "expected.tsv", "1-0")
    with pytest.raises(InputError, match=r"expected\.tsv: expected 3 lines, one per question of in\.tsv, got 1"):
        PolEval().gold(one_set)


HEADER = "question-id\tpassage-id\tscore"
PAIRS = [
    (["question-id\tpassage-id"], r"line 1: expected the columns question-id, passage-id, score"),
    ([], r"no question has a relevant passage"),
    ([HEADER, "0\t2-0"], r"line 2: expected the columns .*, got '0\\t2-0'"),
    ([HEADER, "0\t2-0\t1", ""], r"line 3: expected"),
    ([HEADER, "0\t2-0\tyes"], r"line 2: expected the columns"),
    ([HEADER, "0\t2-0\t1", "7\t2-0\t1"], r"line 3: question-id: expected one of questions\.jl, got '7'"),
    ([HEADER, "0\t2-0\t0"], r"no question has a relevant passage"),
]


@pytest.mark.parametrize(("rows", "message"), PAIRS)
def test_malformed_pairs_are_refused_with_their_place(competition, poleval, rows, message):
    poleval.write(competition / "pairs.tsv", *rows)
    with pytest.raises(InputError, match=rf"pairs\.tsv: {message}"):
        PolEval().gold(competition)


def hits(*ids):
    return Ranking(tuple(Hit(id, 100.0 - rank) for rank, id in enumerate(ids)))


def test_a_run_as_it_is_written(tmp_path, caplog):
    long = hits(*(f"wiki/{number}" for number in range(12)))
    responses = [
        Response(TurnId("wiki/1", 1), ranking=long),
        Response(TurnId("wiki/2", 1), error=Failure("retriever", "ValueError", "no")),
        Response(TurnId("law/3", 1), ranking=hits("law/1", "wiki/1")),
        Response(TurnId("law", 1), ranking=hits("law/1")),
    ]
    path = PolEval().write(responses, tmp_path, frozenset({"rankings"}))
    assert path.read_bytes() == b"0\t1\t2\t3\t4\t5\t6\t7\t8\t9\n\n1\twiki/1\nlaw/1\n"
    assert "out.tsv: 3 of 4 lines have fewer than 10 passages, 1 of them none" in caplog.text


@pytest.mark.parametrize("id", ["a\tb", "a\nb", "a\rb", ""])
def test_an_id_that_a_line_cannot_hold(tmp_path, id):
    with pytest.raises(InputError, match=r"passage id '.*' cannot"):
        PolEval().write([Response(TurnId(1, 1), ranking=hits(id))], tmp_path, frozenset({"rankings"}))
    assert list(tmp_path.iterdir()) == []


def problems(run, path):
    return [problem.removeprefix(f"{run}: ") for problem in PolEval().check(path, run)]


def test_all_format_errors_at_once(one_set, tmp_path):
    run = tmp_path / "out.tsv"
    run.write_bytes(
        b"\xef\xbb\xbf2-0\t\t3-0\t\n"
        + b"3-0 2-0\t 1-0\t3-0\t3-0\n"
        + b"\t".join(b"%d" % n for n in range(11))
        + b"\xff\nx\n"
    )
    found = problems(run, one_set)
    for wanted in (
        "line 1: has 2 empty ids", "line 2: '3-0 2-0' has blanks",
        "line 3: byte 23 is not UTF-8", "line 3: has 11 ids; expected at most 10", "has 4 lines; expected 3",
    ):  # fmt: skip
        assert sum(one.startswith(wanted) for one in found) == 1, wanted
    (one_set / "out.tsv").write_text("Result1\tResult2\n2-0\n\n1-0\n")
    assert problems(one_set / "out.tsv", one_set) == ["line 1: is a header; expected none (GEval ignores it)"]
    assert problems(tmp_path / "absent", one_set) == [
        f"no such file; expected {'a line for each question, with passage ids separated by TAB'}."
    ]


def test_a_run_over_several_sets_has_a_line_per_question(two_sets, poleval):
    run = poleval.write(two_sets / "out.tsv", "zzz")
    assert problems(run, two_sets) == ["has 1 lines; expected 4, one per question"]


def rows_of(path):
    found = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, score = line.split("\t")
        found[question].append((passage, float(score)))
    return found


RECORDED = [
    ("wiki", "bm25", 0.6275672),
    ("wiki", "MiniLM", 0.2109501),
    ("allegro", "bm25", 0.5288532),
    ("allegro", "MiniLM", 0.3761188),
]


@pytest.mark.parametrize(("name", "system", "value"), RECORDED)
def test_recorded_runs(data, tmp_path, poleval, name, system, value):
    """GEval's value of runs that were recorded with another scorer's: it counts a repeated pair of the truth twice."""
    folder = data / "poleval2022" / "runs" / name
    gold, run = rows_of(folder / "pairs-test.tsv"), rows_of(folder / system / "submission.tsv")
    poleval.write(tmp_path / "in.tsv", *(f"{name}\tquestion {id}" for id in gold))
    poleval.write(tmp_path / "expected.tsv", *("\t".join(id for id, _ in pairs) for pairs in gold.values()))
    poleval.write(tmp_path / "out.tsv", *("\t".join(id for id, _ in run[question]) for question in gold))
    assert means(evaluate(tmp_path, tmp_path)) == {"NDCG@10": pytest.approx(value, abs=5e-8)}
    other = sum(_repeats_counted(dict(run[id]), [one for one, _ in pairs]) for id, pairs in gold.items()) / len(gold)
    assert f"NDCG@10: {other:.3f}" == (folder / system / "results.txt").read_text().strip()


def _repeats_counted(scores, relevant):
    """NDCG@10 by score, ties as the mean of their places, each mention of a relevant passage a hit of its own."""
    discounts = [1 / log2(rank + 2) if rank < 10 else 0 for rank in range(len(scores) + len(relevant))]
    tied = defaultdict(list)
    for id, gain in [*((id, 1) for id in relevant), *((id, 0) for id in scores.keys() - set(relevant))]:
        tied[scores.get(id, float("-inf"))].append(gain)
    place = total = 0
    for gains in (tied[score] for score in sorted(tied, reverse=True)):
        total += sum(discounts[place : place + len(gains)]) * sum(gains) / len(gains)
        place += len(gains)
    return total / sum(discounts[: len(relevant)])
