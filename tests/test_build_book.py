"""A small book of its own, built, edited and broken: what `make book` promises."""

import re
import shutil

import pytest
import small_book
from reproduce import differences, digests

PAGE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {name: python3, display_name: Python 3, language: python}
---
# A page

The answer is 0.25, drawn in {numref}`fig-bar`.

```{code-cell} ipython3
from helpers.answer import ANSWER
print(ANSWER)
```
""" + small_book.figure("fig-bar", "A caption.")


def build(root):
    return small_book.run(root, "build.py", str(root))


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built book of two pages, copied afresh for each test."""
    root = tmp_path_factory.mktemp("book")
    small_book.write(root, {"book/index": "# Start\n\nGo on.\n", "chapters/page": PAGE},
                     [{"caption": "One", "numbered": True, "chapters": [{"file": "chapters/page"}]}])
    (root / "helpers" / "answer.py").write_text("ANSWER = 0.25\n")
    code, said = build(root)
    assert code == 0, said
    return root, said


@pytest.fixture
def book(built, tmp_path):
    root = tmp_path / "book"
    shutil.copytree(built[0], root)
    return root


def html(root):
    return (root / "_build" / "html" / "chapters" / "page.html").read_text(encoding="utf-8")


def test_a_build_says_what_it_executes_and_where_the_site_is(built):
    root, said = built
    assert re.search(r"Executing \[1/1\] chapters/page: \d+\.\d s", said)
    assert re.search(r"2 pages in \d+\.\d s: .*_build/html/index\.html", said)
    assert (root / "_build" / "html" / "index.html").is_file()


def test_two_clean_builds_give_the_same_bytes(built, tmp_path):
    """Pages, pictures, notebooks and their archive, in another folder and by kernels of their own."""
    again = tmp_path / "elsewhere" / "book"
    shutil.copytree(built[0], again, ignore=shutil.ignore_patterns("_build"))
    code, said = build(again)
    assert code == 0 and "Executing [1/1]" in said, said
    one, other = (root / "_build" / "html" for root in (built[0], again))
    assert differences(one, other) == []
    compared = " ".join(digests(one))
    assert all(kind in compared for kind in ("chapters/page.html", ".svg", "chapters/page.ipynb", ".zip", "searchindex.js"))


def test_a_changed_stylesheet_and_a_new_kind_of_box_reach_the_page(book):
    """Rules that no page used are gone from the site; they must come back with the first page that does."""
    sheets = lambda: "".join(path.read_text(encoding="utf-8") for path in (book / "_build" / "html" / "_static").rglob("*.css"))
    assert ".sd-card" not in sheets()
    edit(book / "book" / "_static" / "book.css", "/* Page frame */", ".bd-article { --mark-of-this-test: 1; }")
    edit(book / "chapters" / "page.md", "# A page\n", "# A page\n\n:::{card} A card\nWith words.\n:::\n")
    code, said = build(book)
    assert code == 0, said
    assert "--mark-of-this-test" in sheets() and ".sd-card" in sheets()
    edit(book / "book" / "_static" / "book.css", "--mark-of-this-test: 1", "--mark-of-this-test: 2")
    code, said = build(book)
    assert code == 0 and "--mark-of-this-test: 2" in sheets(), "a stylesheet alone must reach the site too"


def test_the_site_holds_nothing_that_no_page_uses(book):
    static = book / "_build" / "html" / "_static"
    assert sum(path.stat().st_size for path in static.rglob("*") if path.is_file()) < 800_000
    page = html(book)
    for unwanted in ("thebe", "ethical-ad", "fontawesome", "searchindex", "MathJax"):
        assert unwanted not in page, unwanted
    for name in re.findall(r"_static/([^\"?']+)", page):
        assert (static / name).is_file(), name


def test_prose_and_captions_are_edited_without_executing(book):
    stamp = (book / "_build" / "shared-inputs").read_text()
    edit(book / "chapters" / "page.md", "A caption.", "Another caption.")
    edit(book / "chapters" / "page.md", "The answer is", "The solution is")
    code, said = build(book)
    assert code == 0, said
    assert "Executing: nothing" in said
    assert "The solution is 0.25" in html(book) and "Another caption." in html(book)
    assert (book / "_build" / "shared-inputs").read_text() == stamp


def test_a_changed_helper_changes_the_page_or_fails_on_the_stale_number(book):
    (book / "helpers" / "answer.py").write_text("ANSWER = 0.75\n")
    code, said = build(book)
    assert code == 1 and "chapters/page.md:7: stale number: 0.25" in said, said
    edit(book / "chapters" / "page.md", "The answer is 0.25", "The answer is 0.75")
    code, said = build(book)
    assert code == 0, said
    assert "0.75" in html(book) and "0.25" not in html(book)


@pytest.mark.parametrize("old, new, message", [
    ("print(ANSWER)", "print(ANSWER / 0)", r"chapters/page\.md:9: ZeroDivisionError: division by zero|float division by zero"),
    ("is 0.25", "is 0.26", r"chapters/page\.md:7: stale number: 0\.26"),
    ('  image:\n    alt: "A line that rises from left to right."\n', "", r"chapters/page\.md:\d+: WARNING: picture without alt text"),
    ("The answer is", r"With $\nosuchcommand x$ the answer is", r"chapters/page\.md:[78]: WARNING: wanted TeX that MathML can say, got '.*nosuchcommand x'"),
    ("{numref}`fig-bar`", "{numref}`fig-none`", r"chapters/page\.md:[78]: WARNING: undefined label"),
])
def test_a_fault_fails_the_build_with_file_and_line_and_leaves_no_site(book, old, new, message):
    edit(book / "chapters" / "page.md", old, new)
    code, said = build(book)
    assert code == 1, said
    assert re.search(message, said), said
    assert not (book / "_build" / "html").exists()
    code, again = build(book)
    assert code == 1 and re.search(message, again), "a second build must not forget the fault"


def test_a_page_without_a_file_is_named(book):
    edit(book / "_toc.yml", "chapters/page", "chapters/lost")
    code, said = build(book)
    assert code == 1 and "chapters/lost" in said


def test_notebooks_follow_the_page_and_its_buttons_the_address(book):
    made = book / "_build" / "html" / "notebooks" / "chapters" / "page.ipynb"
    first = made.read_text(encoding="utf-8")
    assert "The answer is 0.25, drawn in Figure 1.1." in first and "**Figure 1.1.** A caption." in first
    assert 'href="../notebooks/chapters/page.ipynb"' in html(book) and "colab" not in html(book).lower()
    edit(book / "_config.yml", 'url: ""', "url: https://github.com/somebody/some-book")
    code, said = build(book)
    assert code == 0, said
    address = "https://colab.research.google.com/github/somebody/some-book/blob/gh-pages/notebooks/chapters/page.ipynb"
    assert html(book).count(address) == html(book).count("btn-binder") == html(book).count("btn-notebook") == 1
    assert '<link rel="canonical" href="https://somebody.github.io/some-book/chapters/page.html"' in html(book)
    assert 'href="/some-book/_static/' in (book / "_build" / "html" / "404.html").read_text(encoding="utf-8")
    for logo in re.findall(r'class="btn[^>]*btn-(?:colab|binder)".*?<img [^>]*src="\.\./([^"]+)"', html(book), re.S):
        assert (book / "_build" / "html" / logo).is_file(), f"{logo}: a picture that a page uses stays in the finished site"
    assert "git clone" in made.read_text(encoding="utf-8")
    edit(book / "_config.yml", "url: https://github.com/somebody/some-book", 'url: ""')
    code, said = build(book)
    assert code == 0 and "colab" not in html(book).lower() and "git clone" not in made.read_text(encoding="utf-8")
    edit(book / "chapters" / "page.md", "The answer is", "The result is")
    code, said = build(book)
    assert code == 0 and "The result is 0.25" in made.read_text(encoding="utf-8") and html(book).count("btn-notebook") == 1
