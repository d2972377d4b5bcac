"""PolEval 2022 passage retrieval: ten passages per question (https://github.com/poleval/2022-passage-retrieval)."""

from convqa.tasks.poleval.task import PolEval

__all__ = ["PolEval"]
