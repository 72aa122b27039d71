"""The archive of notebooks, unpacked in an empty folder, installed by its own README, and run.

Everything is installed from the archive's loose requirements, by pip as this machine has it configured, except torch:
it is larger than all the rest, on Linux by gigabytes where the default build for CUDA is the one to be had, so the new
environment borrows the torch that the book was built with.  It has to satisfy the loose requirement like any other.
"""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT, SITE

ARCHIVE = SITE / "notebooks" / "sequence-models-notebooks.zip"
RUNNER = """
import json, os, sys, time
from contextlib import redirect_stdout
from io import StringIO
from IPython.core.inputtransformer2 import TransformerManager

paths, fixed = sys.argv[1:], set(sys.modules)
for path in map(os.path.abspath, paths):
    start, names, search = time.perf_counter(), {"__name__": "__main__"}, list(sys.path)
    os.chdir(os.path.dirname(path))
    with open(path, encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    with redirect_stdout(StringIO()):
        for i, cell in enumerate(cells):
            exec(compile(TransformerManager().transform_cell("".join(cell["source"])), f"{path}, code cell {i}", "exec"), names)
    sys.path[:] = search
    print(f"{os.path.basename(path)}: {len(cells)} code cells in {time.perf_counter() - start:.1f} s", flush=True)
print("helpers from", os.path.dirname(sys.modules["helpers"].__file__))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The unpacked archive."""
    if not ARCHIVE.is_file():
        pytest.fail("wanted the archive of notebooks in the built site, found none; run `make book` first")
    empty = tmp_path_factory.mktemp("empty")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(empty)
    (unpacked,) = empty.iterdir()
    return unpacked


def torch_packages() -> list[str]:
    """torch, and the packages of CUDA that its default build for Linux brings along."""
    needs = {re.match(r"[\w.-]+", line)[0] for line in importlib.metadata.requires("torch") or []}
    installed = {name.lower() for one in importlib.metadata.distributions() if (name := one.metadata["Name"])}
    return ["torch", *sorted(name for name in needs if name.startswith(("nvidia", "cuda", "triton")) and name.lower() in installed)]


def borrow_torch(environment: Path):
    """Put this environment's torch, and nothing else, into another one."""
    (there,) = environment.glob("lib/python*/site-packages")
    for package in torch_packages():
        files = importlib.metadata.files(package)
        for name in {file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}:
            source = Path(importlib.metadata.distribution(package).locate_file(name))
            if not (there / name).exists():  # packages of CUDA share a folder
                (there / name).symlink_to(source, target_is_directory=source.is_dir())


def alone() -> dict:
    """This process's environment without what would lead to the book's own modules."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return kept | {"OMP_NUM_THREADS": "1", "PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture(scope="module")
def python(folder):
    """The interpreter of a fresh environment, set up by the two commands of the archive's README."""
    commands = re.search(r"## Set up, once.*?```\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.S)[1].splitlines()
    assert len(commands) == 2 and commands[0].startswith("python3 ")
    subprocess.run([sys.executable, *commands[0].split()[1:]], cwd=folder, env=alone(), check=True)
    made, *install = commands[1].split()
    python = folder / made.replace("bin/python", "Scripts/python.exe" if os.name == "nt" else "bin/python")
    if os.name != "nt":  # where links need no rights, and torch is large
        borrow_torch(folder / ".venv")
    start = time.perf_counter()
    done = subprocess.run([python, *install], cwd=folder, env=alone(), capture_output=True, text=True)
    if done.returncode and not os.environ.get("CI") and "connection" in (done.stdout + done.stderr).lower():
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    print(f"{commands[1]}: {time.perf_counter() - start:.0f} s")
    return python


def test_archive_holds_what_its_readme_names(folder):
    names = {path.name for path in folder.iterdir()}
    assert names >= {"README.md", "LICENSE", "requirements.txt", "chapters", "book", "helpers", "figures", "experiments"}
    for kept in ("helpers", "figures", "experiments"):
        for path in (ROOT / kept).rglob("*.py"):
            assert (folder / path.relative_to(ROOT)).read_bytes() == path.read_bytes()
    assert not list(folder.rglob("*.md"))[1:], "chapters come as notebooks"


def test_requirements_are_loose(folder):
    lines = (folder / "requirements.txt").read_text(encoding="utf-8").split()
    assert {re.split("[<>=]", line)[0] for line in lines} >= {"numpy", "torch", "matplotlib", "pandas", "ipykernel", "jupyterlab"}
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", line) for line in lines), lines


def test_every_notebook_runs_in_a_fresh_environment(folder, python):
    paths = sorted(str(path) for place in ("book", "chapters") for path in (folder / place).glob("*.ipynb"))
    done = subprocess.run([python, "-c", RUNNER, *paths], cwd=folder, env=alone(), capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("code cells in") == len(paths)
    assert f"helpers from {folder}" in done.stdout


def test_a_notebook_runs_in_a_kernel_of_the_fresh_environment(folder, python):
    path = folder / "chapters" / "one_head.ipynb"
    done = subprocess.run([python, "-m", "jupyter", "execute", "--inplace", path], cwd=folder, env=alone(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    faces = {mime for cell in cells for output in cell["outputs"] for mime in output.get("data", {})}
    assert {"text/html", "image/svg+xml", "text/latex"} <= faces


def test_a_notebook_taken_out_of_the_archive_says_what_it_misses(folder, python, tmp_path):
    shutil.copy(folder / "chapters" / "one_head.ipynb", tmp_path)
    done = subprocess.run([python, "-c", RUNNER, tmp_path / "one_head.ipynb"], cwd=tmp_path, env=alone(), capture_output=True, text=True)
    assert done.returncode and f"wanted the folder helpers beside or above {tmp_path}, found none" in done.stderr
