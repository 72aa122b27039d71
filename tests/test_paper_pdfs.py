"""The PDFs that `make pdf` and `make handouts` made: complete, numbered as the site is, without answers for students."""

import re
import subprocess
from functools import cache

import pytest
from conftest import ROOT, html, published
from paper import config, slug
from paper_links import EDITIONS
from paper_text import CHAPTERS, PAGES, PDFS, files, pdf, plain, sheets, squash, squashed, text
from pypdf import PdfReader
from reading import agrees, numbers_in, stands_in, table_cells
from test_site_course_values import TABLES, TEXTS, flat

TITLE = config(ROOT)["title"]
ALL = [("", edition) for edition in EDITIONS] + [(page, edition) for page in CHAPTERS for edition in EDITIONS]
STUDENT = [page for page, edition in ALL if edition == "student"]


def heading(page: str) -> str:
    """A page's title as the site shows it, with its number."""
    return html(page).select_one("article.bd-article h1").get_text(" ", strip=True).removesuffix("#").strip()


def captions(page: str) -> list[tuple[str, list[str]]]:
    """(number, runs of words) of the captions of a page's tables and figures, in their order."""
    found = []
    for node in html(page).find("main").find_all(["caption", "figcaption"]):
        number = node.find(class_="caption-number").get_text(strip=True)
        found.append((number, plain(node)))
    return found


def answers(page: str) -> list[str]:
    """Runs of words and lines of code that stand in the answers of a page and nowhere else on it."""
    main = html(page).find("main")
    inside = main.find_all("div", class_="solution")
    runs = []
    for box in inside:
        for node in box.find_all(["p", "li", "pre"]):
            if "admonition-title" in node.get("class", []) or node.find_parent("details"):
                continue
            parts = map(squash, node.get_text().splitlines()) if node.name == "pre" else plain(node)
            runs += [run for run in parts if len(run) >= 20]
    return [run for run in runs if not any(run in words for words in outside_answers().values())]


@cache
def outside_answers() -> dict:
    """The words of each page without those of its answers."""
    return {page: squash("".join(words for words in html(page).find("main").find_all(string=True)
                                 if not words.find_parent("div", class_="solution"))) for page in PAGES}


def test_every_pdf_is_there_and_named_for_people():
    names = {(entry["page"], entry["edition"]): name for name, entry in files().items()}
    assert names["", "student"] == f"{slug(TITLE)}-student.pdf"
    assert set(names) == set(ALL)
    for (page, edition), name in names.items():
        if page:
            assert re.fullmatch(rf"handouts/[a-z0-9-]+-{edition}\.pdf", name), name
            assert squash(name.removeprefix("handouts/").removesuffix(f"-{edition}.pdf")) in squash(heading(page))


def test_nothing_half_written_is_left():
    assert {path.relative_to(PDFS).as_posix() for path in PDFS.rglob("*.*")} == {*files(), "made.json"}


@pytest.mark.parametrize("page, edition", ALL)
def test_title_language_bookmarks_and_number_of_pages(page, edition):
    reader = PdfReader(pdf(page, edition))
    title = re.sub(r"^[\d.]+ *", "", heading(page)) if page else TITLE
    assert reader.metadata.title == f"{title}, {edition} edition"
    assert reader.metadata.author == config(ROOT)["author"]
    assert reader.trailer["/Root"]["/Lang"] == "en"
    assert reader.trailer["/Root"]["/ViewerPreferences"]["/DisplayDocTitle"]
    count = len(reader.pages)
    assert count == next(entry["pages"] for entry in files().values() if (entry["page"], entry["edition"]) == (page, edition))
    assert (5 <= count <= 40) if page else count > 100

    def titles(outline):
        return [name for entry in outline for name in (titles(entry) if isinstance(entry, list) else [squash(entry.title)])]

    marks = titles(reader.outline)
    for other in [page] if page else CHAPTERS:
        assert squash(heading(other)) in marks
        sections = [squash(h.get_text().removesuffix("#")) for h in html(other).select("article.bd-article h2") if not h.find(class_="math")]
        assert not [name for name in sections if name not in marks]


@pytest.mark.parametrize("page, edition", ALL)
def test_no_page_is_blank_or_holds_lines_without_a_prompt(page, edition):
    for number, sheet in enumerate(sheets(page, edition), 1):
        assert [line for line in sheet.splitlines() if line.strip() and line.strip() != str(number) and TITLE not in line], f"page {number}"


@pytest.mark.parametrize("edition", EDITIONS)
def test_contents_and_index_name_the_pages(edition):
    """A chapter stands on the page that the contents give, and a word of the glossary on the last one that the index gives."""
    pages_of_text = list(map(squash, sheets("", edition)))
    contents = next(number for number, sheet in enumerate(pages_of_text) if sheet.startswith("contents"))
    listed = "\n".join(sheets("", edition)[contents:contents + 6])
    for page in CHAPTERS:
        number, title = re.match(r"(\d+)\.? +(.*)", heading(page)).groups()
        place = int(re.search(rf"(?m)^ *{number} +{re.escape(title)} +(\d+)$", listed)[1])
        assert f"chapter{number}{squash(title)}" in pages_of_text[place - 1], (page, place)
        assert sheets("", edition)[place - 1].strip().splitlines()[-1].strip() == str(place)
    index = "\n".join(sheets("", edition)[-3:]).partition("Index")[2]
    words = re.findall(r"(?m)(?:^|  ) *([a-z][a-z -]+), (?:\d+, )*(\d+)(?=  |$)", index)
    assert len(words) > 60
    for word, place in words:
        assert squash(word) in pages_of_text[int(place) - 1], (word, place)


@pytest.mark.parametrize("page, edition", ALL)
def test_fonts_are_embedded_and_drawings_are_vectors(page, edition):
    said = subprocess.run(["pdffonts", pdf(page, edition)], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()[2:]]
    assert len(rows) > 3
    assert all(row[-5] == "yes" for row in rows), said
    assert "Type 3" not in said
    pictures = subprocess.run(["pdfimages", "-list", pdf(page, edition)], capture_output=True, text=True, check=True).stdout
    assert not pictures.splitlines()[2:], pictures


@pytest.mark.parametrize("page, edition", ALL)
def test_nothing_is_unresolved(page, edition):
    """No "??", no label as it stands in the source, no command of LaTeX or Sphinx."""
    words = text(page, edition)
    assert "??" not in words
    assert not labels() & set(re.findall(r"[\w-]+", words))
    assert not re.search(r"\\(?:ref|hyper|sphinx|book|begin|detokenize)|\{(?:numref|ref|eq|cite)", words)


@cache
def labels() -> set[str]:
    """The labels of the pages, except those that a page shows on purpose."""
    named = {node["id"] for page in PAGES for node in html(page).find("main").find_all(id=True)}
    shown = " ".join(html(page).find("main").get_text(" ") for page in PAGES)
    return {label for label in named if re.match(r"(tab|fig|eq|ex|q|chap|predict|equation)-", label) and label not in shown}


@pytest.mark.parametrize("page", CHAPTERS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_running_heads_and_page_numbers(page, edition):
    first, *rest = sheets(page, edition)
    assert first.split("\n")[0].startswith(TITLE) and f"{edition.title()} edition" in first.split("\n")[0]
    assert ("Name" in first.split("Chapter")[0]) == (edition == "student")
    number = re.match(r"\d+", heading(page)).group()
    for count, sheet in enumerate(rest, 2):
        lines = sheet.strip().splitlines()
        assert lines[0].startswith(TITLE) and squash(lines[0].removeprefix(TITLE)) == squash(heading(page)), lines[0]
        assert lines[-1].strip() == str(count)
    assert re.search(rf"^ *Chapter {number}$", first, re.M)


@pytest.mark.parametrize("page", CHAPTERS)
@pytest.mark.parametrize("whole", [False, True])
def test_captions_have_the_numbers_and_words_of_the_site(page, whole):
    wanted = captions(page)
    assert wanted
    words = text("" if whole else page, "instructor")
    shown = re.findall(r"(?m)^ *((?:Table|Figure) \d+\.\d+): ", words)
    chapter = re.match(r"\d+", heading(page)).group()
    assert sorted(number for number in shown if number.split()[1].startswith(f"{chapter}.")) == sorted(n for n, _ in wanted)
    flat_words = squashed("" if whole else page, "instructor")
    for number, runs in wanted:
        assert runs[0].startswith(squash(number))
        assert not [run for run in runs if run not in flat_words], number


@pytest.mark.parametrize("page", CHAPTERS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_captions_outside_answers_keep_their_numbers_for_students(page, edition):
    """Left-out answers shift nothing."""
    numbers = {n for n in re.findall(r"(?m)^ *((?:Table|Figure) \d+\.\d+): ", text(page, edition))}
    boxed = {node.find(class_="caption-number").get_text(strip=True)
             for box in html(page).find("main").find_all("div", class_="solution") for node in box.find_all(["caption", "figcaption"])}
    assert numbers == {n for n, _ in captions(page)} - (boxed if edition == "student" else set())


@pytest.mark.parametrize("page", CHAPTERS)
def test_equations_and_exercises_have_the_numbers_of_the_site(page):
    main, words = html(page).find("main"), text(page, "instructor")
    wanted = [node.get_text().strip("¶#").strip() for node in main.find_all("span", class_="eqno")]
    chapter = re.match(r"\d+", heading(page)).group()
    assert re.findall(rf" {{3,}}(\({chapter}\.\d+\)) *$", words, re.M) == wanted
    exercises = [squash(node.get_text()) for node in main.select("div.exercise > p.admonition-title")]
    assert len(exercises) >= 3
    for title in exercises:
        assert title in squashed(page, "instructor"), title
    numbers = [node.get_text(strip=True) for node in main.select("div.exercise .caption-number")]
    assert numbers == sorted(set(re.findall(r"(?m)^ *(Exercise \d+\.\d+) \(", words)), key=lambda n: int(n.rpartition(".")[2]))


@pytest.mark.parametrize("page", CHAPTERS)
@pytest.mark.parametrize("edition", EDITIONS)
def test_references_into_other_chapters_name_the_chapter(page, edition):
    words = re.sub(r"\s+", " ", text(page, edition))
    for link in html(page).find("main").find_all("a", class_="reference internal", href=True):
        if edition == "student" and link.find_parent("div", class_="solution"):
            continue
        numbered = re.fullmatch(r"((?:Table|Figure|Exercise) )?\(?((\d+)\.\d+)\)?", link.get_text(strip=True))
        if numbered and not link["href"].startswith("#"):
            name, number, chapter = numbered.groups()
            assert f"{name or 'equation '}{number} in chapter {chapter}" in words, link


@pytest.mark.parametrize("page", CHAPTERS)
def test_answers_stand_in_the_instructor_edition_only(page):
    runs = answers(page)
    assert len(runs) > 5
    student, instructor = squashed(page, "student"), squashed(page, "instructor")
    assert not [run for run in runs if run in student]
    lacking = [run for run in runs if run not in instructor]
    assert len(lacking) < 0.2 * len(runs), lacking  # a run that a page break or a footnote cuts
    assert not [run for run in runs if run in squashed("", "student")]


def test_answers_stand_in_the_whole_book_for_instructors():
    words = squashed("", "instructor")
    for page in CHAPTERS:
        runs = answers(page)
        assert sum(run in words for run in runs) > 0.8 * len(runs), page


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_site_links_to_its_handouts(page):
    linked = [a["href"] for a in html(page).find("main").select("p.book-paper a")]
    assert linked == [f"../pdf/{pdf(page, edition).name}" for edition in EDITIONS]
    listed = [a["href"] for a in html("book/how_to_use").select("#on-paper ul.book-paper a")]
    assert set(linked) <= set(listed) and len(listed) == len(ALL)


def paper_numbers(page: str) -> list[str]:
    words = text(page, "instructor").replace("\N{MINUS SIGN}", "-")
    return numbers_in(re.sub(r" ?× ?10 ?(-?\d+)", r"e\1", words))


@pytest.mark.parametrize("key", TABLES)
def test_published_table_on_paper(key):
    """Row by row, the numbers of the page's table that the course publishes."""
    place = TABLES[key]
    _, body = table_cells(html(place["page"]), place["table"])
    caption = html(place["page"]).find("table", id=place["table"]).caption.find(class_="caption-number").get_text(strip=True)
    words = text(place["page"], "instructor").replace("\N{MINUS SIGN}", "-")
    start = re.search(rf"(?m)^ *{caption}: ", words).start()
    lines = [numbers_in(re.sub(r" ?× ?10 ?(-?\d+)", r"e\1", line)) for line in words[start:].splitlines()[:len(body) * 3 + 40]]
    for row, wanted in zip(body, published()[key]["values"]):
        wanted = flat(wanted)
        assert any(contains(line, wanted) for line in lines), f"{caption}, row {row[0]}: wanted {wanted}"


def contains(line: list[str], wanted: list[str]) -> bool:
    """Whether the wanted numbers stand in a line, in order."""
    rest = iter(line)
    return all(any(agrees(number, one) for number in rest) for one in wanted)


@pytest.mark.parametrize("key", TEXTS)
def test_published_vector_or_scalar_on_paper(key):
    wanted = flat(published()[key]["values"])
    assert stands_in(wanted, paper_numbers(TEXTS[key]["page"])), f"wanted {wanted} in the handout of {TEXTS[key]['page']}"
