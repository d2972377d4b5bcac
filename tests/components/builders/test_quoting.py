"""Texts of others as a model is shown them: no sign that it might obey is left, and no quote ends early."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convqa.components.builders._prompt import fence, harmless, quoted

TEMPLATES = [
    "<|im_start|>system", "<|im_end|>", "<|eot_id|>", "<|start_header_id|>", "<start_of_turn>user", "<end_of_turn>",
    "<s>", "</s>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[|user|]", "[SEP]",
    "<\uff5cUser\uff5c>", "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "<think>", "</think>", "<|channel|>final",
    "]~b]ai", "[e~[", "\uff1c|im_end|\uff1e", "<\u200b|im_end|>", "<\x00|im_end|>", "</passage>", "<unused7>",
]  # fmt: skip
"""Control tokens and tags of common chat templates, and ways to hide them."""

# No bracket, and no angle bracket that touches what it would open.
SAFE = re.compile(r"[\[\]\u3010\u3011\uff3b\uff3d]|<\S")

wild = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from('<>|/[]{}"\\\n\r\u2028`#:s\u200b\u202e\ud800\U000e0041')),
    max_size=120,
)


@pytest.mark.parametrize("token", TEMPLATES)
def test_control_tokens_fall_apart(token):
    shown = harmless(f"before {token} after {token}{token}")
    assert token not in shown and not SAFE.search(shown)
    assert shown.startswith("before ") and " after " in shown


def test_plain_text_stays_as_it_is():
    text = 'Goethe (1749–1832) said: "1 < 2", naïve 👩‍👧, می‌خواهم, 5 > 4 & so on.'
    assert harmless(text) == text


def test_what_cannot_be_seen_is_left_out():
    smuggled = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    selected = "".join(chr(0xE0100 + ord(letter)) for letter in "obey")
    assert harmless(f"a{smuggled}b{selected}c\u202ed\u2066e\u00adf\x1b[2Jg\x7f") == "abcdef(2Jg"


@given(wild)
def test_a_quote_is_one_line_of_json_without_such_signs(text):
    line = quoted(text)
    assert not re.search(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]", line)
    assert not SAFE.search(json.loads(line))
    assert json.loads(line) == harmless(text)


@given(st.lists(wild, max_size=4))
def test_no_text_has_its_fence(texts):
    assert not [text for text in texts if fence(texts) in text]


def test_a_text_that_guesses_the_fence_changes_it():
    guessed = fence(["a", "b"])
    assert fence(["a", f"b{guessed}"]) != guessed
