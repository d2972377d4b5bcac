"""The task QReCC."""

from convqa.tasks.base import Task
from convqa.tasks.qrecc import grouping, input, run, schema, score, truth


class QReCC(Task):
    """Reads questions.json and writes run.json, which is scored against ground-truth.json."""

    name = "qrecc"
    input_file = input.FILE
    truth_file = truth.FILE
    run_file = run.FILE
    official_file = "evaluation.prototext"
    default_pipeline = "qrecc"
    options = score.QReCCOptions
    legend = (
        "QR, ROUGE1-R: recall of the true rewrite, of the true answer. MRR: 1 / rank of the first true passage. EM, "
        "F1: match with the true answer. Cited-F1: match of cited and true passages. turns: those that have the truth "
        "for a measure. See docs/tasks/qrecc.md."
    )

    has_input = staticmethod(input.recognize)
    read = staticmethod(input.read)
    gold = staticmethod(truth.read)
    write = staticmethod(run.write)
    read_run = staticmethod(run.read)
    problems = staticmethod(run.problems)
    official_text = staticmethod(score.official_text)
    key = staticmethod(schema.turn_key)
    part = staticmethod(score.part)
    judged = staticmethod(score.judged)
    breakdowns = staticmethod(grouping.breakdowns)
    score = staticmethod(score.score)
