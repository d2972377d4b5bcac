"""The task JWHR: its files and what is done with them."""

from convqa.tasks.base import Task
from convqa.tasks.jwhr import check, input, passages, run, score, truth
from convqa.tasks.jwhr.schema import LANGUAGE


class JWHR(Task):
    """A file of entries, or a folder of such files, in; run.jsonl, of the same form, out; the same to score it."""

    name = "jwhr"
    input_file = "JWHR's entries, as JSON lines or an array"
    truth_file = "entries in JWHR's format"
    run_file = run.FILE
    default_pipeline = "jwhr"
    language = LANGUAGE
    options = score.Options

    has_input = staticmethod(input.recognise)
    has_truth = staticmethod(input.recognise)
    read = staticmethod(input.read)
    passages = staticmethod(passages.passages)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(check.problems)
    score = staticmethod(score.score)
