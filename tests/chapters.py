"""Running a chapter's cells in this process, to test the functions it defines and to change its inputs."""

import os
from contextlib import redirect_stdout
from io import StringIO

import jupytext
from conftest import ROOT
from pages import Page


def cells(name: str) -> list[str]:
    """The code cells of a page, in order."""
    return [cell for cell in Page(ROOT, name).notebook.cells if cell.cell_type == "code"]


def percent(name: str) -> list:
    """The code cells of a page, by way of a script with `# %%` cells, as VS Code's cell runner reads it."""
    script = jupytext.writes(Page(ROOT, name).notebook, fmt="py:percent")
    return [cell for cell in jupytext.reads(script, fmt="py:percent").cells if cell.cell_type == "code"]


def namespace(name: str, /, folder=None, source=None, **inputs) -> dict:
    """Run every cell of a page, in its own folder or another; `inputs` replace names that its parameters cell sets."""
    names, here = {"__name__": "__main__"}, os.getcwd()
    os.chdir(folder or (ROOT / name).parent)
    try:
        for number, cell in enumerate(source or cells(name)):
            with redirect_stdout(StringIO()):
                exec(compile(cell.source, f"{name}, code cell {number}", "exec"), names)
            if "parameters" in cell.metadata.get("tags", []):
                names.update(inputs)
    finally:
        os.chdir(here)
    return names
