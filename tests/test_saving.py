"""Saving from Jupyter: what was not edited stays as it was typed."""

from types import SimpleNamespace

import jupytext
import pytest
from as_typed import as_typed, before_saving, parts
from conftest import ROOT
from pages import pages

RUN = [page for page in pages(ROOT) if page.notebook]


def from_jupyter(text: str, change=lambda notebook: None) -> str:
    """What Jupyter is about to write after a visit: Jupytext's own spelling, the kernel's names, folded cells."""
    notebook = jupytext.reads(text, fmt="md:myst")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.12.1"}
    for cell in notebook.cells:
        if "hide-input" in cell.metadata.get("tags", []):
            cell.metadata["jupyter"] = {"source_hidden": True}
    change(notebook)
    return jupytext.writes(notebook, fmt="md:myst")


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_an_unedited_page_is_saved_byte_for_byte(page):
    written = from_jupyter(page.text)
    assert written != page.text, "Jupytext has a spelling of its own, so the test can fail"
    assert as_typed(page.text, written) == page.text


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_one_edited_cell_changes_its_lines_only(page):
    def edit(notebook):
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        code[len(code) // 2].source += "\nnew = 1"

    saved = as_typed(page.text, from_jupyter(page.text, edit)).splitlines()
    before = page.text.splitlines()
    (place,) = [i for i, line in enumerate(saved) if line == "new = 1"]
    assert saved[:place] + saved[place + 1:] == before


def page(name: str):
    return next(page for page in RUN if page.name == name)


def test_edited_prose_added_and_removed_cells():
    text = page("chapters/positioned_tokens").text

    def edit(notebook):
        notebook.cells[0].source = notebook.cells[0].source.replace("without losing", "and not lose")
        notebook.cells.insert(3, jupytext.reads("```{code-cell}\nx = 1\n```", fmt="md:myst").cells[0])
        del notebook.cells[8]

    wanted = from_jupyter(text, edit)
    saved = as_typed(text, wanted)
    assert [key for key, _ in parts(saved)] == [key for key, _ in parts(wanted)], "it means what Jupyter has"
    old, new = set(text.splitlines()), set(saved.splitlines())
    assert "and not lose" in saved and new - old == {line for line in saved.splitlines() if "and not lose" in line} | {"x = 1"} | (
        {"```{code-cell}"} & new)
    assert len(old - new) < 12


def test_a_changed_caption_keeps_the_other_cells():
    text = page("chapters/positioned_tokens").text

    def edit(notebook):
        cell = next(cell for cell in notebook.cells if "mystnb" in cell.metadata)
        cell.metadata["mystnb"]["figure"]["caption"] = "Another caption.\n"

    saved = as_typed(text, from_jupyter(text, edit))
    assert "Another caption." in saved and saved.count("caption: |") == text.count("caption: |") - 1
    assert jupytext.reads(saved, fmt="md:myst").cells[-1].source == jupytext.reads(text, fmt="md:myst").cells[-1].source


def test_outputs_are_not_stored():
    text = page("book/how_to_use").text

    def edit(notebook):
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [{"output_type": "stream", "name": "stdout", "text": "printed"}], 3

    assert as_typed(text, from_jupyter(text, edit)) == text


def test_the_hook_leaves_other_files_alone(tmp_path):
    manager = SimpleNamespace(_get_os_path=lambda path: str(tmp_path / path))
    text = page("book/how_to_use").text
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    (tmp_path / "page.py").write_text("a=1", encoding="utf-8")
    chapter = {"type": "file", "content": from_jupyter(text)}
    before_saving(chapter, "page.md", manager)
    assert chapter["content"] == text
    for model, path in (({"type": "file", "content": "a = 1"}, "page.py"), ({"type": "notebook", "content": {}}, "page.md"),
                        ({"type": "file", "content": "# New\n"}, "new.md")):
        kept = dict(model)
        before_saving(model, path, manager)
        assert model == kept
