"""What holds for every page of the built site."""

import json
import re
from copy import copy

import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, SITE, html
from pages import pages

PAGES = [page.name for page in pages(ROOT)]
LABELS = json.loads((ROOT / "tests" / "data" / "labels.json").read_text(encoding="utf-8"))
FIXED = [(kind, entry["label"], entry["page"]) for kind, group in
         (("table", "tables"), ("figure", "figures"), ("figure", "week1_figures"))
         for entry in LABELS[group].values() if entry["page"] in PAGES]


@pytest.mark.parametrize("kind, label, page", FIXED)
def test_course_label_stands_on_its_page(kind, label, page):
    """Readers' links rely on the ids, so a table or figure of the course keeps its own, with a number and a caption."""
    found = html(page).find(kind, id=label)
    assert found, f"no <{kind} id={label!r}> on {page}"
    caption = found.find("caption" if kind == "table" else "figcaption").get_text(" ", strip=True)
    assert re.match(r"(Table|Figure) \d+\.\d+ \S", caption), caption


@pytest.mark.parametrize("page", PAGES)
def test_every_table_and_figure_is_mentioned_by_number(page):
    soup = html(page)
    labels = [node["id"] for node in soup.find_all(["table", "figure"], id=True)
              if node.find(["caption", "figcaption"])]
    linked = {a["href"].rpartition("#")[2] for other in PAGES for a in html(other).find("main").find_all("a", href=True)
              if not a.find_parent(["caption", "figcaption"]) and "headerlink" not in a.get("class", [])}
    assert not set(labels) - linked


@pytest.mark.parametrize("page", PAGES)
def test_every_table_scrolls_in_a_box_of_its_own_and_names_its_columns(page):
    for table in html(page).find("main").find_all("table"):
        assert "table" in table["class"] and "pst-scrollable-table-container" in table.parent.get("class", []), table.get("id")
        assert all(head.get("scope") in ("col", "row") for head in table.find_all("th")), table.get("id")


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_says_what_it_shows(page):
    for image in html(page).find("main").find_all("img"):
        assert len(image.get("alt", "")) > 20, f"{page}: {image.get('src')}"


@pytest.mark.parametrize("page", sorted(set(PAGES) - {"book/index", "book/revision_sheet", "book/references"}))
def test_a_page_opens_with_its_question(page):
    opening = html(page).find("h1").find_next("p", class_=lambda name: name != "book-paper")
    assert opening.strong and opening.strong.get_text() == opening.get_text() and opening.get_text().endswith("?"), opening.get_text()


def strays(article) -> list[str]:
    """What a reader would see of markup that nothing has read: directives, roles, fences, rows of a table without its table."""
    article = copy(article)
    for node in article.find_all(["pre", "code", "script"]) + article.find_all(class_="math"):
        node.replace_with(" ")
    words = re.findall(r"`|:::|~~~|\{\w[\w:-]*\}|\$|\]\(|^\s*:\w+:|\*\*", article.get_text(" "), re.M)
    return words + [item.get_text(" ", strip=True) for item in article.select("ul > li > ul:first-child")]


@pytest.mark.parametrize("page", PAGES)
def test_no_markup_is_left_as_text(page):
    assert not strays(html(page).find("article"))


@pytest.mark.parametrize("left", ["<ul><li><ul><li>x</li></ul></li></ul>", "<p>{numref}</p>", "<p>:::</p>", "<p>a $x$</p>",
                                  "<p>[a](b)</p>", "<p>:name: tab-x</p>"])
def test_markup_that_is_left_is_found(left):
    assert strays(BeautifulSoup(f"<article>{left}</article>", "html.parser"))


@pytest.mark.parametrize("page", PAGES)
def test_no_page_names_another_host_to_load_from(page):
    soup = html(page)
    loaded = [node.get("src") or node.get("href") for node in soup.find_all(["script", "link", "img", "iframe", "source"])
              if not (node.name == "link" and "stylesheet" not in node.get("rel", []) and "icon" not in node.get("rel", []))]
    assert not [url for url in loaded if url and re.match(r"(https?:)?//", url)]
    assert "unpkg" not in str(soup) and "jsdelivr" not in str(soup)


@pytest.mark.parametrize("page", PAGES)
def test_no_id_stands_twice_and_no_link_leads_nowhere(page):
    soup = html(page)
    ids = [node["id"] for node in soup.find("main").find_all(id=True)]
    assert len(ids) == len(set(ids)), sorted({i for i in ids if ids.count(i) > 1})
    for a in soup.find_all("a", href=True):
        assert not (a.find_parent("article") and a.get_text()[:1].isspace()), f"{a.get_text()!r}: a link that begins with a space"
        target, _, anchor = a["href"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (SITE / f"{page}.html").parent / target if target else SITE / f"{page}.html"
        assert path.resolve().exists(), f"{page}: {a['href']}"
        if anchor and path.suffix == ".html":
            other = html(path.resolve().relative_to(SITE.resolve()).with_suffix("").as_posix())
            assert other.find(id=anchor), f"{page}: {a['href']}"


def test_no_chapter_holds_outputs_and_none_starts_with_a_digit():
    for path in (ROOT / "chapters").iterdir():
        assert path.suffix == ".md" and not path.name[0].isdigit(), path.name


def test_helpers_stay_small():
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "helpers").glob("*.py")}
    assert sum(lines.values()) < 900 and max(lines.values()) <= 300, lines
