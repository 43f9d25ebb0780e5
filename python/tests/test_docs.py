"""Every example in a docstring and in docs/python.md runs; those in python/examples run in wheel_test."""
import doctest
import os
import pathlib
import re
import subprocess
import sys

import pytest

import bdnn

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = [bdnn, bdnn.datasets, bdnn.plot]
NAMES = [name for name in bdnn.__all__ if getattr(bdnn, name).__doc__ and ">>>" in str(getattr(bdnn, name).__doc__)]


@pytest.mark.parametrize("name", ["bdnn", "bdnn.datasets", "bdnn.plot", *NAMES])
def test_docstring(name, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    target = {"bdnn": bdnn, "bdnn.datasets": bdnn.datasets, "bdnn.plot": bdnn.plot}.get(name) or getattr(bdnn, name)
    finder = doctest.DocTestFinder(recurse=name.startswith("bdnn."))
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    cases = [case for case in finder.find(target, name) if case.examples]
    assert cases
    for case in cases:
        runner.run(case)
    assert runner.failures == 0


def test_every_public_thing_is_documented():
    for name in bdnn.__all__:
        thing = getattr(bdnn, name)
        if name != "__version__" and callable(thing) and name != "backend":
            assert thing.__doc__, name
    for cls in (bdnn.Hasher, bdnn.Index, bdnn.BinaryNeighbors):
        for name, member in vars(cls).items():
            if not name.startswith("_") and callable(member) and name != "fit_transform":
                assert member.__doc__, f"{cls.__name__}.{name}"


def run(path, folder):
    return subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "Agg"})


def test_the_code_of_the_page_runs(tmp_path):
    """docs/python.md, block after block, as one session."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.S)
    assert len(blocks) >= 5
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = run(tmp_path / "page.py", tmp_path)
    assert done.returncode == 0, done.stderr


def test_stubs_name_every_class():
    stub = pathlib.Path(bdnn.__file__).parent / "__init__.pyi"
    if not stub.exists():
        pytest.skip("built with a sanitizer, without stubs")
    text = stub.read_text()
    compile(text, str(stub), "exec")
    for cls in bdnn.methods().values():
        assert f"class {cls.__name__}(Hasher):" in text
