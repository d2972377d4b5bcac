"""Quotes and summaries as passages."""

from __future__ import annotations

import copy

from convqa.domain import Passage
from convqa.tasks.jwhr.task import JWHR


def test_every_quote_and_summary_is_a_passage_and_equal_ones_are_one(made_up):
    found = list(JWHR().passages(made_up))
    assert [(passage.id.partition("#")[0], passage.meta["kind"]) for passage in found] == [
        ("架空川", "quote"),
        ("架空川", "quote"),  # quoted again in entry 2, from the mobile address of the same page
        ("灯籠祭り_(架空県)", "summary"),
        ("架空ガラス", "quote"),
        ("架空ガラス", "quote"),
        ("架空県", "quote"),
        ("架空県知事", "quote"),
    ]
    assert len({passage.id for passage in found}) == len(found)
    assert found[1] == Passage(
        "架空川#" + found[1].id[-12:],
        "毎年七月には川辺で灯籠祭りが開かれる。",
        "架空川",
        "https://ja.wikipedia.org/wiki/架空川",
        {"kind": "quote"},
    )
    assert found[4].text == "灰に含まれる鉄のため、淡い青色を帯びる。\n色の濃さは窯によって異なる。"  # as it stands


def test_ids_rest_on_page_and_text_alone(write, entry):
    (alone,) = JWHR().passages(write(entry))
    assert alone.id == "東京#9ac0f4a7ad6d"
    other, encoded = copy.deepcopy(entry), copy.deepcopy(entry)
    other["id"], encoded["id"] = 8, 9
    other["references"][0]["page"]["quote"]["text"] = "別の文。"
    encoded["references"][0]["page"] |= {"url": "http://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC#x", "title": "東京都"}
    assert [passage.id for passage in JWHR().passages(write(other, encoded, entry))][1:] == [alone.id]
    elsewhere = copy.deepcopy(entry)
    elsewhere["references"][0]["page"]["url"] += "都"
    (passage,) = JWHR().passages(write(elsewhere))
    assert passage.id != alone.id and passage.text == alone.text


def test_titles_and_addresses_are_composed_and_blank_texts_are_none(write, entry):
    entry["references"][0]["page"] |= {"title": "か\u3099  っこう\n", "url": "", "summary": {"text": " ", "method": ""}}
    (passage,) = JWHR().passages(write(entry))
    assert (passage.title, passage.url) == ("が っこう", "") and passage.id.startswith("が_っこう#")
