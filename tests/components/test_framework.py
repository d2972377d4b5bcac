"""Packages that Haystack gets only when it uses them."""

from __future__ import annotations

import sys

import pytest

from convqa.components.framework import _deferred


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "seldom").mkdir()
    (tmp_path / "seldom" / "__init__.py").write_text("value = 3")
    (tmp_path / "seldom" / "part.py").write_text("value = 4")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("seldom", "seldom.part"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("package")
def test_a_package_is_imported_when_one_of_its_names_is_used():
    with _deferred("seldom"):
        import seldom as stand_in
    assert "seldom" not in sys.modules
    assert stand_in.value == 3
    import seldom

    assert stand_in is not seldom
    assert stand_in.value is seldom.value
    with pytest.raises(AttributeError, match="other"):
        stand_in.other  # noqa: B018


@pytest.mark.usefixtures("package")
def test_a_name_or_a_module_of_it_may_be_imported_meanwhile():
    with _deferred("seldom"):
        from seldom import value
        from seldom.part import value as of_part
    assert (value, of_part) == (3, 4)
    assert sys.modules["seldom"].value == 3


@pytest.mark.usefixtures("package")
def test_a_package_that_is_there_already_stays():
    import seldom

    with _deferred("seldom"):
        assert sys.modules["seldom"] is seldom
    assert sys.modules["seldom"] is seldom


def test_a_package_that_is_not_installed_is_missing_as_ever():
    with _deferred("no_such_package"), pytest.raises(ModuleNotFoundError):
        import no_such_package  # noqa: F401
