"""Contract tests for parts of other packages: what convqa expects of a member, a store, a task and the rest.

Subclass the contract of your part in a test file of yours, set what its docstring names, and run pytest::

    from convqa.testing import RewriterContract

    class TestShout(RewriterContract):
        member = "my_package.shout.Shout"

convqa tests its own parts with the same classes. They need pytest, which convqa does not install, and neither the
network nor a checkout of convqa. This package is counted apart from the rest (``scripts/size.py``,
docs/decisions/033), because it runs only in tests.
"""

from __future__ import annotations

try:
    import pytest
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"convqa.testing needs pytest: pip install pytest ({error})") from error

# So that a failed assertion shows its values. It must come before the modules are imported.
for module in ("parts", "stations", "stores", "tasks", "vectors"):
    pytest.register_assert_rewrite(f"{__name__}.{module}")

from convqa.testing.parts import (
    DocumentFormatContract,
    DocumentSourceContract,
    ExportContract,
    LanguageContract,
    MeasureContract,
)
from convqa.testing.samples import PASSAGES
from convqa.testing.stations import (
    BuilderContract,
    DeciderContract,
    ReaderContract,
    RerankerContract,
    RetrieverContract,
    RewriterContract,
    StationContract,
    Subject,
)
from convqa.testing.stores import ReadOnlyStoreContract, StoreContract
from convqa.testing.tasks import TaskContract

__all__ = [
    "PASSAGES",
    "BuilderContract",
    "DeciderContract",
    "DocumentFormatContract",
    "DocumentSourceContract",
    "ExportContract",
    "LanguageContract",
    "MeasureContract",
    "ReadOnlyStoreContract",
    "ReaderContract",
    "RerankerContract",
    "RetrieverContract",
    "RewriterContract",
    "StationContract",
    "StoreContract",
    "Subject",
    "TaskContract",
]
