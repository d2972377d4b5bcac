"""The task PolEval: its files and what is done with them."""

from convqa.tasks.base import Task
from convqa.tasks.poleval import check, input, passages, run, score, truth


class PolEval(Task):
    """in.tsv or questions.jl, in a folder or as a file, in; out.tsv out; expected.tsv or pairs.tsv to score it."""

    name = "poleval"
    input_file = "in.tsv or questions.jl"
    truth_file = "expected.tsv or pairs.tsv"
    run_file = run.FILE
    default_pipeline = "poleval"
    language = input.LANGUAGE
    passages_file = "passages.jl (also .gz; where to put them: docs/tasks/poleval.md)"

    has_input = staticmethod(input.recognise)
    has_truth = staticmethod(truth.recognise)
    read = staticmethod(input.read)
    passages = staticmethod(passages.passages)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(check.problems)
    part = staticmethod(score.part)
    judged = staticmethod(score.judged)
    score = staticmethod(score.score)
