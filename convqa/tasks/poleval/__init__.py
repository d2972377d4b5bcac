"""PolEval 2022 passage retrieval: ten passages per question (https://github.com/poleval/2022-passage-retrieval)."""
