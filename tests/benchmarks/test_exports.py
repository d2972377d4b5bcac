from __future__ import annotations

import random

from convqa.exports import OF_ANSWERS


def test_random_answers_come_back_from_every_format(tmp_path):
    import exports

    chance = random.Random(1)
    responses = [exports.some_response(chance, number) for number in range(50)]
    for name in OF_ANSWERS:
        assert exports.line(name, responses, tmp_path)[3:6] == ["0"] * 3


def test_what_is_lost_added_or_shifted_is_counted():
    import exports

    first, second, moved = ("A.", "p", (0, 3, "abc")), ("B.", "p", (4, 5, "d")), ("A.", "p", (1, 3, "bc"))
    assert exports.compare([first, second], [first, second]) == (0, 0, 0)
    assert exports.compare([first, second], [first]) == (1, 0, 0)
    assert exports.compare([first], [first, first]) == (0, 1, 0)
    assert exports.compare([first, second], [moved, second]) == (0, 0, 1)
    assert exports.compare([first, second], [second, first]) == (0, 0, 2)
