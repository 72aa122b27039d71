"""The pages at the back: the knowledge map, the misconceptions, the self-test, the glossary and what belongs to them."""

import json
import re
import tomllib
from functools import cache

import networkx as nx
import numpy as np
import pytest
import yaml
from chapters import namespace
from conftest import ROOT
from glossary_links import COMMON, chapters, entries, linked, running, unlinked
from hypothesis import given
from hypothesis import strategies as some

from figures.knowledge_map import chapters_of, draw, needs_of
from helpers import check

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PARTS = {part["caption"]: [entry["file"] for entry in part["chapters"]] for part in TOC["parts"] if part.get("numbered")}
CHAPTERS = [name for names in PARTS.values() for name in names]
BACK = ["plain_summary", "knowledge_map", "misconceptions", "self_test", "exam_guide", "revision_sheet", "formulas", "glossary",
        "course_map", "errata", "how_to_cite", "references"]
STANDARD = {"The inputs you may change", "Exercises", "Further reading", "What was shown, and what was not"}
KINDS = {"Recall", "Compute", "Explain", "Find the mistake", "Debug a shape"}


@cache
def source(name: str) -> str:
    return (ROOT / f"{name}.md").read_text(encoding="utf-8")


def prose(name: str) -> str:
    """A page without its fenced code."""
    return re.sub(r"^(`{3,}).*?^\1$", "", source(name), flags=re.S | re.M)


def headings(name: str, level: int) -> list[str]:
    return re.findall(rf"^#{{{level}}} (.+)$", prose(name), re.M)


def anchor(heading: str) -> str:
    """What a heading is called in an address: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_back_matter_is_in_the_table_of_contents():
    last = TOC["parts"][-1]
    assert last["caption"] == "At the back" and [entry["file"] for entry in last["chapters"]] == [f"book/{name}" for name in BACK]


# The knowledge map

MAP = yaml.safe_load((ROOT / "book" / "knowledge_map.yml").read_text(encoding="utf-8"))
GRAPH = needs_of(MAP)
IDEAS = [idea for part in MAP for chapter in part["chapters"] for idea in chapter["ideas"]]


def test_map_has_the_parts_and_chapters_of_the_book():
    assert {part["part"]: [chapter["file"] for chapter in part["chapters"]] for part in MAP} == PARTS
    for part in MAP:
        for chapter in part["chapters"]:
            assert headings(chapter["file"], 1) == [chapter["title"]]


def test_every_idea_is_complete_and_named_once():
    for key in ("id", "idea", "says"):
        values = [idea[key] for idea in IDEAS]
        assert len(values) == len(set(values)), key
    for idea in IDEAS:
        assert set(idea) == {"id", "idea", "section", "says", "needs"}, idea["id"]
        assert len(idea["idea"]) <= 36 and idea["says"].endswith("."), idea["id"]


def test_needs_stand_further_up_and_none_follows_from_others():
    """So the book's order is a possible order of study, and the picture has no arc too many."""
    seen = set()
    for idea in IDEAS:
        assert set(idea["needs"]) <= seen, f"{idea['id']} needs {set(idea['needs']) - seen}, which do not stand above it"
        seen.add(idea["id"])
    redundant = set(GRAPH.edges) - set(nx.transitive_reduction(GRAPH).edges)
    assert not redundant, f"implied by other needs: {sorted(redundant)}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_section_without_an_idea_and_no_idea_without_a_section(name):
    sections = {anchor(heading) for heading in headings(name, 2) if heading not in STANDARD}
    mapped = {node["section"] for _, node in GRAPH.nodes(data=True) if node["file"] == name}
    assert not sections - mapped, "sections without an idea"
    assert not mapped - {anchor(heading) for level in (2, 3) for heading in headings(name, level)}, "ideas without a section"


def test_chapters_inherit_the_needs_of_their_ideas():
    whole = nx.transitive_closure(chapters_of(GRAPH))
    for a, b in GRAPH.edges:
        here, there = GRAPH.nodes[a]["file"], GRAPH.nodes[b]["file"]
        assert here == there or whole.has_edge(here, there), f"{there} needs {here}"
    assert list(chapters_of(GRAPH)) == CHAPTERS


def small(*edges):
    graph = nx.DiGraph()
    graph.add_nodes_from((name, {"idea": name, "title": "all"}) for name in "abc")
    graph.add_edges_from(edges)
    return graph


def test_picture_draws_the_arcs_between_its_nodes_only():
    assert draw(small("ab", "bc"), "abc").numbers == "b needs a\nc needs b"
    assert draw(small("ab", "bc"), "bc").numbers == "c needs b"
    axes = draw(small("ab", "bc"), "bc").figure.axes[0]
    fills = [line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"]
    assert fills[0] == "white" != fills[1], "b also needs what is not drawn"


def test_picture_refuses_unknown_names_and_arcs_that_point_upwards():
    with pytest.raises(ValueError, match="names: wanted ideas of the map, got d"):
        draw(small("ab"), "abd")
    with pytest.raises(ValueError, match="graph: wanted needs that stand further up, got a needs b"):
        draw(small("ba"), "abc")


# Misconceptions

MYTHS = re.findall(r"^### M(\d+)\. ([^\n]+)\n(.*?)(?=^##)", source("book/misconceptions"), re.S | re.M)


def test_misconceptions_are_numbered_and_said_once():
    assert [int(number) for number, *_ in MYTHS] == list(range(1, len(MYTHS) + 1)) and len(MYTHS) > 50
    sentences = [sentence for _, sentence, _ in MYTHS]
    assert len(set(sentences)) == len(sentences) and all(sentence.startswith('"') for sentence in sentences)


@pytest.mark.parametrize("number, sentence, body", MYTHS, ids=[f"M{number}" for number, *_ in MYTHS])
def test_misconception_is_tempting_settled_by_a_cell_and_linked(number, sentence, body):
    why, *cells = re.split(r"^```\{code-cell\} ipython3$", body, flags=re.M)
    assert len(why.split()) >= 5, "wanted a sentence on what makes it tempting"
    assert len(cells) == 1, f"wanted one cell, got {len(cells)}"
    code, _, after = cells[0].partition("\n```\n")
    assert "print(" in code and "assert " in code, "the output settles it, and an assertion keeps it so"
    assert max(map(len, code.splitlines())) <= 88 and len(code.strip().splitlines()) <= 14
    assert re.search(r"\]\([\w./]+\.md#|\{ref\}`", after), "wanted a link to the place that explains it"


# Self-test

QUESTION = re.compile(r"^::::\{exercise\} ([^\n]+), level (\d)\n:label: (q-[\w-]+)\n(.*?)^::::\n(.*?)"
                      r"^:::\{solution\} \3\n:class: dropdown\n(.*?)^:::$", re.S | re.M)
BY_CHAPTER = {re.search(r"\{ref\}`([\w-]+)`", section)[1]: QUESTION.findall(section)
              for section in source("book/self_test").split("\n## ")[1:]}
QUESTIONS = [question for questions in BY_CHAPTER.values() for question in questions]
BY_HAND = {
    "state": 3.5, "orders": 30, "gradients": [-7.5, -18, -15], "path": 0.0729, "mixture": 0.1, "two paths": [0.7, 0.6],
    "LSTM size": 288, "entry": np.sin(0.03), "output": 10 * np.e**2 / (np.e**2 + 1), "causal": [0.4, 0.6, 0], "maps": 432,
    "normalized": np.sqrt(2), "means": [2.5, 3], "uniform": np.log(9), "reach": 9, "share": 1 / 8, "wrong root": 1 / 4,
    "layer": [192, 244], "scores": 2400, "gap": np.log(4) / 9, "floor": np.sqrt(0.01 + (1 - np.exp(-0.9)) / 2),
}


def test_every_question_is_read_and_has_an_answer():
    page = source("book/self_test")
    assert len(QUESTIONS) == page.count("{exercise}") == page.count("{solution}") >= 60
    assert f"There are {len(QUESTIONS)} questions" in page
    assert len({label for _, _, label, *_ in QUESTIONS}) == len(QUESTIONS)


def test_every_chapter_has_every_kind_and_the_book_every_level():
    labels = [re.search(r"^\(([\w-]+)\)=\n# ", source(name), re.M)[1] for name in CHAPTERS]
    assert list(BY_CHAPTER) == labels
    for label, questions in BY_CHAPTER.items():
        assert {kind for kind, *_ in questions} == KINDS, label
    levels = [level for _, level, *_ in QUESTIONS]
    assert set(levels) == set("123") and min(map(levels.count, "123")) >= 8


@pytest.mark.parametrize("question", QUESTIONS, ids=[label for _, _, label, *_ in QUESTIONS])
def test_question_can_be_checked_or_leads_to_its_section(question):
    kind, _, _, _, between, answer = question
    assert (kind == "Compute") == ("check(None, correct[" in between), "numbers are checked, and only numbers"
    assert re.search(r"\]\(\.\./chapters/\w+\.md#[\w-]+\)|\{ref\}`ex-", answer), "wanted a link to where it is explained"


@pytest.mark.chapter
def test_computed_answers_are_those_worked_by_hand():
    correct = namespace("book/self_test")["correct"]
    asked = re.findall(r'check\(None, correct\["(.+?)"\]\)', source("book/self_test"))
    assert sorted(asked) == sorted(correct) and set(correct) <= set(BY_HAND)
    for name in asked:
        assert check(BY_HAND[name], correct[name]) == "Right.", name
        assert check(1.5 * np.array(BY_HAND[name]) + 0.1, correct[name]) != "Right.", name


# Glossary

GLOSSARY = entries(ROOT)


def test_glossary_is_sorted_and_every_entry_leads_somewhere():
    names = [words[0] for words in GLOSSARY]
    assert names == sorted(names, key=str.lower) and len(names) > 90
    words = [word.lower() for entry in GLOSSARY for word in entry]
    assert len(words) == len(set(words)) and COMMON <= set(words)
    body = source("book/glossary").partition(":::{glossary}\n")[2]
    for entry in body.strip().removesuffix(":::").strip().split("\n\n"):
        assert re.search(r"^  See \[\]\(\.\./chapters/\w+\.md#[\w-]+\)\.$", entry, re.M), entry


@pytest.mark.parametrize("page", chapters(ROOT), ids=lambda page: page.name)
def test_first_use_of_every_word_is_linked(page):
    """`python book/_tools/glossary_links.py` makes it so."""
    assert linked(page.text, GLOSSARY) == page.text


def test_every_entry_is_used_in_a_chapter():
    used = {word.lower() for name in CHAPTERS for pair in re.findall(r"\{term\}`(?:[^`<]+<([^`>]+)>|([^`]+))`", source(name)) for word in pair}
    unused = {words[0] for words in GLOSSARY if not {word.lower() for word in words} & used}
    assert unused == {"multi-head attention"}, "the field's name; the chapters say several heads"


SMALL = [["key"], ["attention"], ["attention head"], ["long short-term memory", "LSTM"], ["leak"]]


def test_words_are_linked_once_in_running_text():
    page = "\n".join(["(chap-x)=", "# The attention head", "", "**What is attention?**", "", "- attention in an outcome", "",
                      "Attention heads and $attention$ and `leak` and {ref}`leak <x>`.", "", "```{code-cell} ipython3", "leak = 1", "```", "",
                      ":::{note}", "A leak.", ":::", "", "## A leak", "", "$$", "leak", "$$ (eq-leak)", "",
                      "- Leaks, a key, a **key**, attention, an LSTM and a long short-term memory, a leak."])
    assert linked(page, SMALL) == page.replace("Attention heads and", "{term}`Attention heads <attention head>` and").replace(
        "Leaks, a key, a **key**, attention, an LSTM",
        "{term}`Leaks <leak>`, a key, a **{term}`key`**, {term}`attention`, an {term}`LSTM`")


@given(some.lists(some.sampled_from(["attention", "attention head", "a", "**key**", "key", "$x$", "\n", "leak,", "## h\n"]), max_size=30))
def test_linking_again_changes_nothing_and_can_be_undone(words):
    page = " ".join(words)
    once = linked(page, SMALL)
    assert linked(once, SMALL) == once and unlinked(once) == page
    assert len(running(page)) == len(page), "places stay where they were"


# The other pages

def test_errata_are_numbered():
    page = source("book/errata")
    numbers = [int(n) for n in re.findall(r"^### E(\d+)\. ", page, re.M)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 9
    numbers = [int(n) for n in re.findall(r"^\* - D(\d+)$", page, re.M)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 8


def test_every_published_number_but_the_known_errors_is_promised_a_place():
    """The errata page says so; `test_site_course_values.py` looks at the places."""
    assert "Every number that the two texts publish has a place" in source("book/errata")
    values = json.loads((ROOT / "tests" / "data" / "course_values.json").read_text(encoding="utf-8"))
    wrong = [value["values"] for value in values.values() if value.get("known_error")]
    for number in wrong:
        shown = f"{int(number):,}" if not isinstance(number, list) else f"{int(number[0]):,}"
        assert shown in source("book/errata")


def test_course_map_leads_to_every_table_and_figure_of_the_course():
    labels = json.loads((ROOT / "tests" / "data" / "labels.json").read_text(encoding="utf-8"))
    wanted = {(re.findall(r"\d+", name)[-1], entry["label"]) for group in ("tables", "figures", "week1_figures")
              for name, entry in labels[group].items()}
    rows = source("book/course_map")
    assert set(re.findall(r"\{ref\}`(\d+) <((?:tab|fig)-[\w-]+)>`", rows)) == wanted
    chapters_named = re.findall(r"^\* - \{ref\}`(chap-[\w-]+)`$", rows, re.M)
    assert chapters_named == list(BY_CHAPTER)


def test_exam_guide_covers_every_part_and_names_misconceptions_that_exist():
    page = source("book/exam_guide")
    sections = dict(re.findall(r"^## (Part [^\n]+)\n(.*?)(?=^## )", page, re.S | re.M))
    assert list(sections) == list(PARTS)
    for part, body in sections.items():
        assert re.findall(r"^\*\*(\w+)\.\*\*", body, re.M) == ["Know", "Compute", "Explain", "Traps"]
        assert {int(n) for n in re.findall(r"\bM(\d+)", body)} <= set(range(1, len(MYTHS) + 1))
        assert re.findall(r"\{ref\}`(chap-[\w-]+)`", body) == [f"chap-{name.split('/')[1].replace('_', '-')}" for name in PARTS[part]]


def test_plain_summary_has_no_formula_and_reaches_every_chapter():
    page = source("book/plain_summary")
    assert "$" not in page and "`{" not in page.replace("{ref}`", "")
    assert set(re.findall(r"\{ref\}`(chap-[\w-]+)`", page)) == set(BY_CHAPTER) - {"chap-synthesis"}


def test_citation_names_the_version_of_the_project():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    page = source("book/how_to_cite")
    assert page.count(f"Version {version}") == 2
    for asked in ("Page:", "Place:", "Edition:", "It says:", "It should say:"):
        assert asked in page, "the report asks for it"
