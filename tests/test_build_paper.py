"""A small book of its own on paper: what `make pdf` and `make handouts` promise, and how they fail."""

import json
import os
import re
import shutil
import subprocess

import pytest
import small_book
from bs4 import BeautifulSoup
from paper import troubles
from paper_text import squash
from pypdf import PdfReader
from sphinx_paper import in_parts

HEAD = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
"""
FIRST = HEAD + """
(chap-first)=
# Counting, slowly

A first page with {eq}`eq-count`, {numref}`tab-before`, {numref}`tab-after` and {numref}`fig-line`.

```{code-cell} ipython3
from helpers import table
table({"a": [0.25, -1.5], "b": [100.0, 2.0]}, "tab-before", caption="Before the exercise.", rows=["x", "y"])
```

$$
n = m + 1
$$ (eq-count)

```{exercise} Count
:label: ex-count
How many pebbles?
```

```{code-cell} ipython3
:tags: [hide-input]
print("There are three heaps to count.")
```

```{code-cell} ipython3
from helpers import check
answer = None
check(answer, 7)
```

````{solution} ex-count
Seven pebbles lie hidden under the willow.

```{list-table} A table inside the answer.
:name: tab-inside
:header-rows: 1
* - pebbles
  - hidden
* - seven
  - yes
```

$$
7 = 6 + 1
$$ (eq-inside)
````

{numref}`tab-inside` and {eq}`eq-inside` stand in the answer.

$$
k = 2n
$$ (eq-after)

```{code-cell} ipython3
table([[1.0]], "tab-after", caption="After the exercise.")
```
""" + small_book.figure("fig-line", "A line.")
SECOND = """# Counting, faster

A {term}`pebble` is a stone.
Compare {numref}`tab-after` and {numref}`fig-line` with {eq}`eq-after`, {ref}`ex-count` and {ref}`chap-first`.
A link to [a far place](https://example.org/far).
"""
GLOSSARY = """# Glossary

:::{glossary}
pebble
  A small stone.

heap
  Many of them.
:::
"""
INDEX = """# A small book

Two chapters.

{.web-only}
## Only on the web

A door for clicking.

```{tableofcontents}
```
"""


def paper(root, *words, **environment):
    return small_book.run(root, "paper.py", *words, "--root", str(root), **environment)


def build(root):
    code, said = small_book.run(root, "build.py", str(root))
    assert code == 0, said


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A book of two chapters, not built."""
    root = tmp_path_factory.mktemp("paper") / "book"
    root.mkdir()
    pages = {"chapters/first": FIRST, "chapters/second": SECOND, "book/index": INDEX, "book/glossary": GLOSSARY,
             "book/how_to_use": "# How to use it\n\n(on-paper)=\n## On paper\n\nHere.\n"}
    small_book.write(root, pages, [
        {"caption": "Before", "chapters": [{"file": "book/how_to_use"}]},
        {"caption": "Part I: One", "numbered": True, "chapters": [{"file": "chapters/first"}, {"file": "chapters/second"}]},
        {"caption": "At the back", "chapters": [{"file": "book/glossary"}]}])
    return root


@pytest.fixture(scope="module")
def built(written):
    if not shutil.which("xelatex"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("wanted xelatex on the path, found none")
    code, said = paper(written, "handouts")
    assert code == 0, said
    return written, said


@pytest.fixture
def book(built, tmp_path):
    root = tmp_path / "book"
    shutil.copytree(built[0], root)
    return root


def words(root, name):
    return subprocess.run(["pdftotext", "-layout", root / "_build" / "pdf" / name, "-"], capture_output=True, text=True, check=True).stdout


def test_without_latex_it_says_what_to_install_and_builds_nothing(written, tmp_path):
    code, said = paper(written, "book", PATH=str(tmp_path))
    assert code == 1
    for way in ("sudo apt install texlive-xetex", "brew install --cask mactex", "MiKTeX", "wanted xelatex", "Nothing has been built"):
        assert way in said, said
    assert "Traceback" not in said
    assert not (written / "_build").exists()


def test_a_missing_package_is_named(written, tmp_path):
    """A TeX installation without the packages: kpsewhich is there and finds nothing."""
    for name in ("xelatex", "xdvipdfmx", "kpsewhich"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    code, said = paper(written, "book", PATH=f"{tmp_path}:/bin")
    assert code == 1 and "SourceCodePro-Regular.otf" in said and "tcolorbox.sty" in said and "found none" in said, said


def test_two_editions_of_each_chapter_are_made_two_at_a_time_and_timed(built):
    root, said = built
    names = {f"handouts/{chapter}-{edition}.pdf" for chapter in ("counting-slowly", "counting-faster") for edition in ("student", "instructor")}
    assert set(json.loads((root / "_build/pdf/made.json").read_text())) == names
    assert len(re.findall(r"counting.*\.pdf: \d+ pages?, \d runs?, \d+\.\d s", said)) == 4, said
    assert "Executing [1/1] chapters/first" in said


def test_an_answer_leaves_the_student_edition_and_shifts_no_number(built):
    student, instructor = (words(built[0], f"handouts/counting-slowly-{edition}.pdf") for edition in ("student", "instructor"))
    assert "pebbles lie hidden" in instructor and "hidden" not in student
    assert "Table 1.2: A table inside the answer" in instructor and "Table 1.2:" not in student
    for text in (student, instructor):
        assert "Table 1.3: After the exercise" in text and "Exercise 1.1 (Count)" in text
        assert re.search(r"𝑘 = 2𝑛 +\(1\.3\)", text), text
        assert "Only on the web" not in text


def test_what_belongs_to_an_exercise_stands_in_its_box_and_no_cell_asks_for_an_answer(built):
    source = (built[0] / "_build/latex/counting-slowly-student.tex").read_text(encoding="utf-8")
    box = re.search(r"begin\{bookexercise\}.*?end\{bookexercise\}", source, re.S)[0]
    assert "How many pebbles" in box and "three heaps to count" in box
    for edition in ("student", "instructor"):
        assert "in place of None" not in words(built[0], f"handouts/counting-slowly-{edition}.pdf")


def test_code_may_be_cut_between_its_paragraphs_only():
    text = "a = 1\nb = 2\n\ndef f():\n    return 1\n\n    # inside\n\nf(\n\n)\nc = 3\n\nd = 4\n"
    lines = text.rstrip("\n").split("\n")
    parts = [part.split("\n")[1:-1] for part in in_parts("\n".join(["begin", *lines, "end"]), text)]
    assert parts == [lines[:2], lines[3:7], lines[8:]]
    with pytest.raises(ValueError, match="wanted 14 typeset lines, got 1"):
        in_parts("begin\na = 1\nend", text)


@pytest.mark.parametrize("line", [
    "! Undefined control sequence.", "LaTeX Warning: Reference `a' on page 1 undefined on input line 2.", "Missing character: There is no x",
    "LaTeX Warning: Label `a' multiply defined.", "Overfull \\hbox (5.1pt too wide) in paragraph at lines 1--2"])
def test_what_a_reader_would_see_is_an_error(line):
    assert troubles(f"before\n{line}\nafter\n")
    assert not troubles("before\nOverfull \\hbox (4.9pt too wide) in paragraph at lines 1--2\nafter\n")


def test_another_chapter_is_named_and_links_print(built):
    text = re.sub(r"\s+", " ", words(built[0], "handouts/counting-faster-student.pdf"))
    for phrase in ("Table 1.3 in chapter 1", "Figure 1.1 in chapter 1", "equation 1.3 in chapter 1", "Exercise 1.1 in chapter 1",
                   "Counting, slowly (chapter 1)", "https://example.org/far"):
        assert phrase in text, text
    assert "Chapter 2" in text and "A pebble is a stone." in text


def test_numbers_align_on_their_points(built):
    text = words(built[0], "handouts/counting-slowly-student.pdf")
    x, y = (re.search(rf"(?m)^{row} .*$", text).group() for row in "xy")
    assert x.index(".") == y.index(".") and "\N{MINUS SIGN}1.5" in y


def test_the_site_links_to_a_pdf_exactly_when_it_is_there(book):
    def links(page):
        soup = BeautifulSoup((book / f"_build/html/{page}.html").read_text(encoding="utf-8"), "html.parser")
        return [a["href"].removeprefix("../pdf/") for a in soup.select(".book-paper a")]

    assert links("chapters/first") == ["counting-slowly-student.pdf", "counting-slowly-instructor.pdf"]
    assert links("book/how_to_use") == ["counting-slowly-student.pdf", "counting-slowly-instructor.pdf",
                                        "counting-faster-student.pdf", "counting-faster-instructor.pdf"]
    assert (book / "_build/html/pdf/counting-slowly-student.pdf").is_file()
    (book / "_build/pdf/handouts/counting-slowly-student.pdf").unlink()
    build(book)
    assert links("chapters/first") == ["counting-slowly-instructor.pdf"] and "counting-slowly-student.pdf" not in links("book/how_to_use")
    assert not (book / "_build/html/pdf/counting-slowly-student.pdf").exists()
    shutil.rmtree(book / "_build" / "pdf")
    build(book)
    assert not links("chapters/first") and not links("book/how_to_use") and not (book / "_build/html/pdf").exists()


def test_building_the_site_again_changes_no_page_that_links_to_pdfs(book):
    site = book / "_build/html"

    def shown():
        return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*.*")
                if path.suffix in (".html", ".css", ".js") and path.is_file()}

    before = shown()
    assert b".book-paper" in before["_static/book.css"]
    build(book)
    assert [name for name, content in shown().items() if before.get(name) != content] == []


def test_one_chapter_one_edition_on_letter_paper_with_an_address(book):
    config = book / "_config.yml"
    config.write_text(config.read_text(encoding="utf-8").replace("\nhtml:\n", "\nhtml:\n  baseurl: https://example.org/book\n"), encoding="utf-8")
    code, said = paper(book, "handouts", "--chapter", "second", "--edition", "student", "--paper", "letter")
    assert code == 0, said
    assert "Executing: nothing" in said or "Executing" not in said, said
    assert "counting-faster-student.pdf: 1 pages" in said and "instructor" not in said, said
    made = book / "_build/pdf/handouts/counting-faster-student.pdf"
    assert [float(x) for x in PdfReader(made).pages[0].mediabox[2:]] == pytest.approx([612, 792], abs=1)
    assert "https://example.org/book" in words(book, "handouts/counting-faster-student.pdf")
    code, said = paper(book, "handouts", "--chapter", "third")
    assert code == 1 and "wanted one of" in said and "first, second" in said and "got 'third'" in said, said


def test_a_line_that_sticks_out_fails_and_leaves_no_pdf(book):
    page = book / "chapters/second.md"
    page.write_text(page.read_text() + "\n$$\n" + " + ".join(f"a_{{{i}}}" for i in range(60)) + "\n$$\n")
    code, said = paper(book, "handouts", "--chapter", "second")
    assert code == 1 and re.search(r"counting-faster-student\.pdf was not typeset.*Overfull \\hbox", said, re.S), said
    assert not list((book / "_build/pdf/handouts").glob("counting-faster*"))
    assert (book / "_build/pdf/handouts/counting-slowly-student.pdf").is_file()


def test_what_has_not_changed_is_not_typeset_again(book):
    code, said = paper(book, "handouts")
    assert code == 0 and said.count("up to date") == 4 and "Writing the pages" not in said, said


def test_the_whole_book(book):
    code, said = paper(book, "book", "--edition", "instructor")
    assert code == 0, said
    name = next(path.name for path in (book / "_build/pdf").glob("*-instructor.pdf"))
    text = words(book, name)
    assert "Contents" in text and "Part I" in text and "Only on the web" not in text
    assert squash("About this book") in squash(text) and "??" not in text
    assert text.index("Chapter 1") < text.index("Chapter 2")
    page = next(number for number, sheet in enumerate(text.split("\f"), 1) if "A pebble is a stone" in sheet)
    listed = next(number for number, sheet in enumerate(text.split("\f"), 1) if "Many of them" in sheet)
    assert re.search(rf"Index\n+ *heap, {listed} +pebble, {page}, {listed}\n", text), text[-300:]
