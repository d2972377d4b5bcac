"""Build a release into ``dist/`` and try it as a user would: ``make release``.

Fails, with what to do, unless the tree is clean, the version is new, and CHANGELOG.md has a dated section for it and
nothing under [Unreleased]. Then it builds the source archive and from it the wheel, from a copy whose README has
absolute links and whose pyproject.toml has the project's addresses (``CONVQA_REPOSITORY`` names the repository). It
installs wheel and source archive alone in new environments of each supported Python on this machine, the oldest also
with the lowest declared versions, and there, outside the checkout, holds a conversation and answers and scores the
bundled example. It publishes nothing: the last lines say how to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from convqa import __version__  # noqa: E402 - of this checkout

UV = Path(sys.executable).with_name("uv")

PAGES = {
    "Homepage": "",
    "Documentation": "/blob/main/docs/README.md",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
}
"""Pages of the repository that the package index links to."""

LARGEST = 95 * 10**6
"""Maximum bytes of a file; the package index accepts a little more."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def output(*command: str | Path, **options: object) -> str:
    """Run a command and return what it printed; its errors go to the terminal."""
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout  # type: ignore[call-overload,no-any-return]


def problem(changelog: str, version: str, tags: list[str], changes: str) -> str | None:
    """Say what keeps a version from being released, None if nothing does."""
    if changes:
        return f"the working tree has changes that are not committed:\n{changes}"
    if f"v{version}" in tags:
        return f"the tag v{version} exists: raise __version__ in convqa/__init__.py."
    sections = dict(re.findall(r"^## (\[.+?\].*)\n((?:(?!^## ).*\n?)*)", changelog, re.MULTILINE))
    dated = rf"\[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d"
    if not any(re.fullmatch(dated, title) and text.strip() for title, text in sections.items()):
        return f'CHANGELOG.md has no section "## [{version}] - YYYY-MM-DD" with entries: give [Unreleased] that title.'
    if sections.get("[Unreleased]", "").strip():
        return f"CHANGELOG.md has entries under [Unreleased]: move them to [{version}], or raise the version."
    return None


def absolute(text: str, repository: str) -> str:
    """Make relative links of a Markdown text absolute.

    >>> absolute("[a](docs/a.md#b) and [c](https://example.org)", "https://here.example/convqa")
    '[a](https://here.example/convqa/blob/main/docs/a.md#b) and [c](https://example.org)'
    """
    return re.sub(r"\]\((?!https?://|#)", f"]({repository}/blob/main/", text)


def copy_for_the_index(repository: str, folder: Path) -> None:
    """Copy the committed files, with the addresses that the package index shows."""
    archive = folder.with_suffix(".tar")
    output("git", "archive", "--output", archive, "HEAD", cwd=ROOT)
    shutil.unpack_archive(archive, folder)
    archive.unlink()
    readme = folder / "README.md"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), repository), encoding="utf-8")
    lines = ["[project.urls]", *(f'{name} = "{repository}{path}"' for name, path in PAGES.items()), "", ""]
    project = folder / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace("[project.scripts]", "\n".join(lines) + "[project.scripts]"), encoding="utf-8")


def interpreter(version: str) -> str | None:
    """Return a Python of a version on this machine, None if there is none."""
    found = subprocess.run([UV, "python", "find", "--no-python-downloads", version], capture_output=True, text=True)
    return found.stdout.strip() or None


def try_package(package: Path, folder: Path, python: str, resolution: str) -> None:
    """Install a package in a new environment and use it there."""
    print(f"{package.name} in a new environment of {python}, {resolution} versions", flush=True)
    programs = folder / "venv" / "bin"
    output(UV, "venv", "--quiet", "--python", python, folder / "venv")
    own = programs / "python"
    output(UV, "pip", "install", "--quiet", "--python", own, "--resolution", resolution, package)
    output(UV, "pip", "check", "--quiet", "--python", own)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(folder / "cache")

    def convqa(*arguments: str | Path, questions: str | None = None) -> str:
        print(f"convqa {' '.join(map(str, arguments))}", flush=True)
        return output(programs / "convqa", *arguments, cwd=folder, env=environment, input=questions)

    where = "from convqa.places import shipped; print(shipped('examples', 'qrecc-trec'))"
    example = Path(output(programs / "python", "-c", where, cwd=folder, env=environment).strip())
    assert example.is_relative_to(folder), f"{example} is not in the new environment"
    version = convqa("--version")
    assert __version__ in version, f"convqa --version printed {version}"
    passages = example / "passages.jsonl.gz"
    talk = convqa("chat", "--collection", passages, questions="When was Uranus discovered?\nWhy is it blue-green?\n")
    assert "[1]" in talk, f"the answers cite nothing:\n{talk}"
    convqa("run", example, folder / "run")
    print(convqa("evaluate", example, folder / "run"))


def main() -> None:
    repository = os.environ.get("CONVQA_REPOSITORY", "").rstrip("/")
    if not repository.startswith("https://"):
        sys.exit("release: set CONVQA_REPOSITORY to the repository's address; links on the package index lead there.")
    changes, tags = output("git", "status", "--porcelain", cwd=ROOT), output("git", "tag", cwd=ROOT).split()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if reason := problem(changelog, __version__, tags, changes):
        sys.exit(f"release: {reason}")
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    print(f"building convqa {__version__} ...", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "convqa"
        copy_for_the_index(repository, copy)
        output(sys.executable, "-m", "build", "--outdir", dist, copy)
    files = sorted(dist.iterdir())
    for file in files:
        print(f"{file.relative_to(ROOT)}  {file.stat().st_size / 1e6:.1f} MB")
        if file.stat().st_size > LARGEST:
            sys.exit(f"release: {file.name} is larger than the {LARGEST / 1e6:.0f} MB that the package index accepts.")
    source, wheel = sorted(files, key=lambda file: file.suffix)
    trials = [(wheel, PYTHONS[0], "lowest-direct"), (source, PYTHONS[0], "highest")]
    trials += [(wheel, version, "highest") for version in PYTHONS]
    for package, version, resolution in trials:
        python = interpreter(version)
        if python is None:
            print(f"uv finds no Python {version}: not tried with it.")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try_package(package, Path(folder).resolve(), python, resolution)
    print(f"convqa {__version__} is ready. To publish it: git tag v{__version__}; git push --tags; twine upload dist/*")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"release: {error}")
