"""What the back matter links to on the built site, and the index."""

import pytest
from chapters import cells
from conftest import ROOT, SITE, html
from glossary_links import entries
from test_back_matter import CHAPTERS, GRAPH, MYTHS, QUESTIONS, STANDARD


def links(page: str) -> set[str]:
    """Every place of the site that a page's text links to, as page#id."""
    here = (SITE / f"{page}.html").parent
    found = set()
    for a in html(page).find("main").find_all("a", href=True):
        target, _, anchor = a["href"].partition("#")
        if target.endswith(".html") and ":" not in target:
            found.add(f"{(here / target).resolve().relative_to(SITE.resolve()).with_suffix('')}#{anchor}")
    return found


def test_every_idea_links_to_its_section():
    wanted = {f"{node['file']}#{node['section']}" for _, node in GRAPH.nodes(data=True)}
    assert not wanted - links("book/knowledge_map"), "ideas without a link"


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_section_is_reached_from_the_map(name):
    titles = {section["id"]: section.find("h2").get_text(" ", strip=True) for section in html(name).find_all("section", id=True)
              if section.find("h2", recursive=False)}
    reached = {place.partition("#")[2] for place in links("book/knowledge_map") if place.startswith(f"{name}#")}
    left = {title for anchor, title in titles.items() if anchor not in reached and not any(words in title for words in STANDARD)}
    assert not left, f"sections without an idea: {left}"


@pytest.mark.parametrize("page", ["book/misconceptions", "book/self_test", "book/exam_guide", "book/course_map"])
def test_every_chapter_is_linked(page):
    assert not set(CHAPTERS) - {place.partition("#")[0] for place in links(page)}


def test_every_misconception_and_question_is_on_its_page():
    shown = html("book/misconceptions").find("main")
    assert len([h for h in shown.find_all("h3") if h.get_text(strip=True).startswith("M")]) == len(MYTHS)
    page = html("book/self_test")
    assert all(page.find(id=label) for _, _, label, *_ in QUESTIONS)
    assert len(page.select("div.solution.dropdown")) == len(QUESTIONS), "answers are folded"


def test_right_answers_are_not_on_the_page_outside_the_folds():
    """The cells that compute them are left out."""
    page = html("book/self_test")
    hidden = [cell for cell in cells("book/self_test") if "remove-cell" in cell.metadata.get("tags", [])]
    assert len(hidden) == len(CHAPTERS)
    text = page.find("main").get_text()
    assert "correct[" in text and not any(cell.source.splitlines()[-1] in text for cell in hidden)


def test_index_lists_every_word_and_the_chapters_that_use_it():
    page = html("genindex").find("main")
    shown = {a.get_text(strip=True): a for a in page.find_all("a")}
    for words in entries(ROOT):
        assert set(words) <= set(shown), words
    places = {a["href"].partition("#")[0].removesuffix(".html") for a in page.find_all("a", href=True)}
    assert set(CHAPTERS) <= places
    word = shown["attention head"].find_parent("li")
    assert "One attention head, operation by operation" in word.get_text()
