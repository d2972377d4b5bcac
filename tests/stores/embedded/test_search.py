"""When enough candidates were scored."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.stores.embedded.search import suffice


@pytest.mark.parametrize(
    ("exact", "found", "k", "settled"),
    [
        ([4, 3, 2, 1], [9, 8, 7, 6], 2, True),
        ([4, 3, 3, 1], [9, 8, 7, 6], 2, True),
        ([4, 1, 2, 3], [9, 8, 7, 6], 2, False),
        ([4, 1, 3, 2], [9, 8, 6.00001, 6], 2, False),
        ([1, 1, 2, 3], [9, 8, 7, 6], 3, False),
        ([0, 0, 0, 0], [9, 9, 9, 9], 2, True),
    ],
    ids=["apart", "tie inside", "k-th is last", "as good as last", "all that are worse tie", "nothing"],
)
def test_candidates_suffice_when_nothing_unseen_can_tie_with_the_kth(exact, found, k, settled):
    assert suffice(np.array(exact, np.float32), np.arange(4), found, k) is settled
