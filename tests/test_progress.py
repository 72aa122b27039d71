"""The progress bar of a cell that trains."""

from types import SimpleNamespace

import pytest

from experiments import progress as module
from experiments.progress import QUIET, progress


@pytest.fixture
def shown(monkeypatch):
    """What a kernel's front end would show: the bar's text after each change."""
    texts = []
    handle = SimpleNamespace(update=lambda bar: texts.append(bar.data))
    monkeypatch.setattr(module, "display", lambda bar, display_id: texts.append(bar.data) or handle)
    monkeypatch.setattr(module, "get_ipython", lambda: SimpleNamespace(kernel=True))
    monkeypatch.delenv(QUIET, raising=False)
    return texts


def test_bar_grows_and_ends_full(shown):
    tick = progress(3, "epochs", every=0)
    for epoch in (1, 2, 3):
        tick(epoch)
    assert [text.partition("</progress> ")[2].partition(",")[0] for text in shown] == [f"{n} of 3 epochs" for n in range(4)]
    assert 'value="3" max="3"' in shown[-1]


def test_bar_is_redrawn_seldom_but_at_the_end(shown):
    tick = progress(1000, "steps", every=60)
    for step in range(1, 1001):
        tick(step)
    assert len(shown) == 2 and "1000 of 1000 steps" in shown[-1]


@pytest.mark.parametrize("where", ["build", "no kernel"])
def test_bar_is_silent(shown, monkeypatch, where):
    if where == "build":
        monkeypatch.setenv(QUIET, "1")
    else:
        monkeypatch.setattr(module, "get_ipython", lambda: None)
    progress(3, "epochs")(3)
    assert not shown
