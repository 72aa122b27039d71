"""The lock: whatever an environment of the book needs is pinned in requirements.txt."""

import re
from importlib.metadata import PackageNotFoundError, requires, version

from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PINS = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(encoding="utf-8"), re.M))
PINNED = {canonicalize_name(name): pin for name, pin in PINS.items()}


def needs(name: str, extras=("",)) -> set[str]:
    """The packages that an installed one asks for here, with these extras."""
    found = map(Requirement, requires(name) or ())
    return {canonicalize_name(r.name) for r in found if not r.marker or any(r.marker.evaluate({"extra": e}) for e in extras)}


def test_what_the_book_asks_for_is_pinned():
    assert not needs("sequence-models-book", ("", "book", "lab", "test")) - set(PINNED)


def test_what_pinned_packages_ask_for_is_pinned_too():
    missing = {}
    for name in PINNED:
        try:
            missing[name] = needs(name) - set(PINNED)
        except PackageNotFoundError:
            continue  # pinned for another system
    assert len(missing) > 100 and not {name: lost for name, lost in missing.items() if lost}


def test_the_environment_is_the_one_that_is_pinned():
    assert PINNED["torch"] == "2.13.0" and version("torch").partition("+")[0] == "2.13.0"
    assert version("jupyter-book") == PINNED["jupyter-book"] and PINNED["jupyter-book"].startswith("1.")
