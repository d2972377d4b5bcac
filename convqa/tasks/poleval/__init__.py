"""PolEval 2022, passage retrieval: ten passages for each question (https://github.com/poleval/2022-passage-retrieval)."""

from convqa.tasks.poleval.task import PolEval

__all__ = ["PolEval"]
