"""What every engine checks in the same way."""

from __future__ import annotations

import numpy as np
import pytest

from convqa.errors import InputError
from convqa.stores.base import Encoder
from convqa.stores.checks import checked_vectors


def test_what_is_no_vector_is_refused():
    encoder = Encoder("e", "c", 2)
    assert checked_vectors(np.ones((3, 2), np.float16), None, encoder, "here").dtype == np.float32
    for wrong in ([[1.0]], [1.0, 2.0], [["a", "b"]], [[np.inf, 1]], [[1, -1e30]], [[1e300, 1]], 1.0):
        with pytest.raises(InputError, match="here"):
            checked_vectors(wrong, None, encoder, "here")
