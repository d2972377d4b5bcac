"""Conversations over documents as examples for the query encoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from recipes import own_documents as own
from recipes.query_encoder import own_documents, with_gold

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def data():
    if not (DATA / own.FOLDER).is_dir():
        pytest.skip("the real data is not beside the checkout")
    return DATA


def test_collections_that_are_reported_on_never_train(data):
    trained, held_out = own.collections(data, held_out=False), own.collections(data, held_out=True)
    names = {path.name for path in (*trained, *held_out)}
    assert (len(trained), len(held_out)) == (73, 9) and not names & {"yeast-lab", "coffee-machine", "visa-office"}


@pytest.mark.slow
def test_turns_have_their_passages_and_histories(data):
    dialogs, passages = own_documents(data, held_out=True)
    ids = {(passage.collection, passage.id) for passage in passages}
    assert all((dialog.example.collection, id) in ids for dialog in dialogs for id in dialog.example.gold)
    with_passage = [dialog for dialog in dialogs if dialog.example.gold]
    assert len(with_passage) > 0.75 * len(dialogs)
    assert not dialogs[0].history and dialogs[1].history


def test_odd_conversations_of_mtrag_are_left_out(data):
    dialogs, passages = with_gold(data, "mtrag_un")
    assert all(int(dialog.example.conversation.rpartition("-")[2]) % 2 == 0 for dialog in dialogs)
    assert all(id in {passage.id for passage in passages} for dialog in dialogs for id in dialog.example.gold)
