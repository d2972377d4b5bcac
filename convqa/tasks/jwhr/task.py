"""The task JWHR."""

from convqa.tasks.base import Task
from convqa.tasks.jwhr import input, passages, run, score, truth
from convqa.tasks.jwhr.schema import LANGUAGE
from convqa.tasks.scores import SupportOptions


class JWHR(Task):
    """Reads files of entries, with their answers as the truth, and writes run.jsonl in the same format."""

    name = "jwhr"
    input_file = "JWHR's entries, as JSON lines or an array"
    truth_file = "JWHR entries"
    run_file = run.FILE
    default_pipeline = "jwhr"
    language = LANGUAGE
    options = SupportOptions

    has_input = staticmethod(input.recognize)
    has_truth = staticmethod(input.recognize)
    read = staticmethod(input.read)
    passages = staticmethod(passages.passages)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(run.problems)
    score = staticmethod(score.score)
