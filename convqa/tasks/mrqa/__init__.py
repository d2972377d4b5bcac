"""MRQA 2019: reading comprehension, and every data set in SQuAD's format (https://github.com/mrqa/MRQA-Shared-Task-2019)."""
