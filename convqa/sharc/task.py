"""The task ShARC."""

from convqa.sharc import input, run, score, truth
from convqa.tasks.base import Task


class ShARC(Task):
    """Reads a file of utterances with their answers, and writes predictions.json."""

    name = "sharc"
    input_file = "ShARC's utterances, as a JSON array, or as JSON lines next to id2snippet.json"
    truth_file = "ShARC utterances"
    run_file = run.FILE
    default_pipeline = "sharc"
    id_field = "utterance_id"

    has_input = staticmethod(input.recognize)
    has_truth = staticmethod(input.recognize)
    has_run = staticmethod(run.recognize)
    read = staticmethod(input.read)
    passages = staticmethod(input.passages)
    pipeline_for = staticmethod(input.pipeline_for)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(run.problems)
    official_text = staticmethod(score.official_text)
    judged = staticmethod(score.judged)
    score = staticmethod(score.score)
