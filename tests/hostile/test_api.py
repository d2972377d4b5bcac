"""Requests made from the server's own schema: every reply is one that the schema documents."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import positive_data_acceptance

from convqa.domain import Passage
from convqa.pipeline.load import load
from convqa.qa import ready
from convqa.server.app import create_app
from convqa.server.config import ServerConfig
from convqa.stores import create_store

pytestmark = pytest.mark.hostile
CASES = 1000
"""Requests in all, about as many for each operation."""
SEED = 20261127


def test_the_server_keeps_its_schema(tmp_path):
    load_all_checks()
    with create_store(str(tmp_path / "library")) as store:
        store.add([Passage("faust", "Faust is a tragic play by Johann Wolfgang von Goethe.")])
    pipeline = ready(load("copy-bm25"), str(tmp_path / "library"))
    settings_of_server = {"pipelines": {"talk": {}}, "conversations": ":memory:", "hosts": ["testserver"]}
    app = create_app(ServerConfig.model_validate(settings_of_server).checked(), {"talk": pipeline})
    operations = [found.ok() for found in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations()]
    asked = []
    for operation in operations:

        @seed(SEED)
        @settings(
            max_examples=CASES // len(operations) + 1,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy())
        def is_kept(case):
            asked.append(case.path)
            # The schema does not know the fields of passages, by which a filter may ask.
            case.call_and_validate(excluded_checks=[positive_data_acceptance])

        is_kept()
    assert len(asked) > CASES / 2 and len(set(asked)) == len({operation.path for operation in operations})
