"""JWHR, the Japanese Wikipedia Human Retrieval dataset: questions, and answers with citations for every sentence.

https://huggingface.co/datasets/baobab-trees/wikipedia-human-retrieval-ja (Yusuke Oda; Baobab, Inc.; Apache-2.0).
"""
