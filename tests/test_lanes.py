"""The rules of the lanes: fixtures choose a test's lane; in CI a test that is skipped for want of a package fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).with_name("conftest.py")


def run(folder, code, *arguments, **environment):
    """The outcome of a test file under this suite's conftest."""
    shutil.copy(CONFTEST, folder)
    (folder / "test_it.py").write_text(code)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n services\n models\n slow\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("PYTEST")}
    kept |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    return done.stdout


def test_a_missing_package_skips_and_in_ci_fails(tmp_path):
    code = (
        "import pytest\n"
        "def test_package(): pytest.importorskip('no_such_package')\n"
        "def test_data(): pytest.skip('the real data is not beside the checkout')\n"
    )
    assert "2 skipped" in run(tmp_path, code)
    out = run(tmp_path, code, CI="true")
    assert "1 failed, 1 skipped" in out and "could not import 'no_such_package'" in out


def test_fixtures_choose_the_lane(tmp_path):
    code = "def test_server(index_url): pass\ndef test_torch(tiny_generator): pass\ndef test_plain(root): pass\n"
    out = run(tmp_path, code, "--collect-only", "-m", "services or models")
    assert "test_server" in out and "test_torch" in out and "test_plain" not in out
