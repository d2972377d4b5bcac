"""The task MRQA."""

from convqa.tasks.base import Task
from convqa.tasks.mrqa import input, run, score, truth


class MRQA(Task):
    """Reads files of contexts with questions and answers, and writes predictions.json."""

    name = "mrqa"
    input_file = "MRQA's JSON lines or SQuAD-format JSON"
    truth_file = "MRQA or SQuAD data"
    run_file = run.FILE
    default_pipeline = "mrqa"
    id_field = "qid"
    options = score.MRQAOptions

    has_input = staticmethod(input.recognize)
    has_truth = staticmethod(input.recognize)
    read = staticmethod(input.read)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(run.problems)
    official_text = staticmethod(score.official_text)
    score = staticmethod(score.score)
