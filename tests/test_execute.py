"""Executing a page: the same cells give the same outputs, whenever and by whichever kernel they are run."""

import nbformat
import pytest
from execute import joined, run
from nbformat.v4 import new_output
from pages import Page

PAGE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# A page

```{code-cell} ipython3
import time
print("first", flush=True)
time.sleep(0.5)
print({f"word {number}" for number in range(20)})
```
"""


@pytest.mark.build
def test_two_kernels_give_the_same_outputs(tmp_path):
    """The order of a set, and where a kernel cuts what is printed, would differ."""
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    one, other = ([cell.outputs for cell in run(Page(tmp_path, "page"))[0].cells if cell.cell_type == "code"] for _ in range(2))
    assert one == other and [len(outputs) for outputs in one] == [1]


def test_only_neighbours_of_one_stream_are_joined():
    def text(name, words):
        return new_output("stream", name=name, text=words)

    shown = new_output("display_data", data={"text/plain": "x"})
    made = joined([nbformat.from_dict(one) for one in (text("stdout", "a"), text("stdout", "b"), shown, text("stdout", "c"), text("stderr", "d"))])
    assert [one.get("text", "x") for one in made] == ["ab", "x", "c", "d"]
