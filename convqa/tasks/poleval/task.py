"""The task PolEval."""

from convqa.tasks.base import Task
from convqa.tasks.poleval import input, passages, run, score, truth


class PolEval(Task):
    """Reads in.tsv or questions.jl and writes out.tsv, which is scored against expected.tsv or pairs.tsv."""

    name = "poleval"
    input_file = "in.tsv or questions.jl"
    truth_file = "expected.tsv or pairs.tsv"
    run_file = run.FILE
    default_pipeline = "poleval"
    language = input.LANGUAGE
    passages_file = "passages.jl (also .gz; where to put them: docs/tasks/poleval.md)"

    has_input = staticmethod(input.recognize)
    has_truth = staticmethod(truth.recognize)
    read = staticmethod(input.read)
    passages = staticmethod(passages.passages)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(run.problems)
    part = staticmethod(score.part)
    judged = staticmethod(score.judged)
    score = staticmethod(score.score)
