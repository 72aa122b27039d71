"""The executed notebooks of the built site: complete, readable without the book's own tools, offered where they are."""

import json
import re
import tomllib
import zipfile
from collections import Counter

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import ROOT, SITE, html
from mathematics import mathml
from notebooks import ARCHIVE, FOLDER, buttons, labels, markdown_and_cells, notebook, output, repository, requirements, setup_cell, site
from pages import Page, pages

PAGES = pages(ROOT)
NAMES = [page.name for page in PAGES]
RUN = [page for page in PAGES if page.notebook]
HOME = SITE / "notebooks"
MARKUP = re.compile(r"\{[a-z][\w:-]*\}`|^\s*:{3,}|`{3}\{|\\\(|\\\[(?!\d)|\.html\b|<div|<span|\ue000", re.M)


def published(name: str):
    return nbformat.read(HOME / f"{name}.ipynb", 4)


def code(made) -> list:
    return [cell for cell in made.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_notebook_has_the_cells_and_outputs_of_its_page(page):
    made = published(page.name)
    nbformat.validate(made)
    setup, *cells = code(made)
    assert "helpers" in setup.source and made.cells[0] is setup
    wanted = [cell for cell in page.executed().cells if cell.cell_type == "code"]
    assert [cell.source for cell in cells] == [cell.source for cell in wanted]
    assert [cell.execution_count for cell in cells] == [cell.execution_count for cell in wanted]
    assert [len(cell.outputs) for cell in cells] == [len(cell.outputs) for cell in wanted]
    assert not [one for cell in cells for one in cell.outputs if one.output_type == "error" or one.get("name") == "stderr"]


@pytest.mark.parametrize("name", NAMES)
def test_notebook_reads_well_without_extensions(name):
    made = published(name)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`(?!`)", "", cell.source, flags=re.S)
            assert not MARKUP.search(prose), MARKUP.search(prose)
            assert cell.source.count("<details>") == cell.source.count("</details>")
    for one in (one for cell in code(made) for one in cell.outputs):
        data = one.get("data", {})
        assert "application/pdf" not in data and not ("text/html" in data and "text/markdown" in data)
        assert not re.search(r"\{(numref|ref|eq|cite)", data.get("text/html", ""))
        if "image/svg+xml" in data:
            assert re.search(r'<svg role="img" aria-label="[^"]{20,}" style="background: white"', data["image/svg+xml"])


def formulas(text: str) -> Counter:
    """The mathematics of a Markdown text, without what differs between a page and its notebook but not in meaning.

    Numbers, space, environments that align lines and how a bar is typed in a table do not count.
    """
    text = re.sub(r"^(`{3,})(\{(?!code-cell)\S*)?(.*?)^\1\s*$", lambda m: m[3] if m[2] else "", text, flags=re.S | re.M)
    text = re.sub(r"`[^`\n]+`|^> ?", "", text, flags=re.M)
    found = ("".join(pair) for pair in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.S))
    alike = ((r"\\tag\{[\d.]+\}", ""), (r"\\(begin|end)\{(aligned|align|split|gathered|gather)\*?\}", ""),
             (r"\\\\\[[^\]]*\]", r"\\\\"), (r"\\vert\b", "|"), (r"\s+", ""))
    counted = Counter()
    for tex in found:
        for what, so in alike:
            tex = re.sub(what, so, tex)
        counted[tex] += 1
    return counted


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_notebook_has_the_formulas_of_the_source(page):
    """From the source to MathML and back: no formula is lost, added or changed."""
    cells = page.notebook.cells if page.notebook else []
    captions = [cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "") for cell in cells]
    wanted = formulas(re.sub(r"\A---\n.*?^---\n", "", page.text, flags=re.S | re.M) + "\n\n" + "\n\n".join(captions))
    got = formulas("\n\n".join(cell.source for cell in published(page.name).cells if cell.cell_type == "markdown"))
    if "{contents}" in page.text:  # repeats headings
        got, wanted = Counter(set(got)), Counter(set(wanted))
    assert got == wanted, f"missing {wanted - got}, too many {got - wanted}"
    assert not cells or page.name.startswith("book/") or sum(got.values()) > 30


@pytest.mark.parametrize("page", [page for page in RUN if "progress(" in page.text], ids=lambda page: page.name)
def test_a_built_page_shows_no_progress_bar(page):
    assert not html(page.name).find("progress")
    assert "<progress" not in (HOME / f"{page.name}.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_the_page_stands_in_its_notebook(name):
    soup = html(name).find("article")
    wanted = [node.get_text().strip() for node in soup.find_all(class_="caption-number")]
    text = "\n".join(cell.source + json.dumps([one.get("data", {}).get("text/html", "") for one in cell.get("outputs", [])])
                     for cell in published(name).cells)
    missing = [number for number in wanted if not re.search(rf"{re.escape(number)}\b", text)]
    assert not missing
    for number in soup.find_all(class_="eqno"):
        assert rf"\\tag{{{re.search(r'[0-9.]+', number.get_text())[0]}}}" in json.dumps(text)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_same_page_gives_the_same_bytes(page):
    known = json.loads((ROOT / "_build" / "labels.json").read_text(encoding="utf-8"))
    again = notebook(page, BeautifulSoup(site(ROOT, page.name), "html.parser"), set(NAMES), known)
    assert nbformat.writes(again) + "\n" == (HOME / f"{page.name}.ipynb").read_text(encoding="utf-8")


def test_links_between_notebooks_lead_somewhere():
    for name in NAMES:
        for cell in published(name).cells:
            for target in re.findall(r"\]\(([^)\s]+\.ipynb)\)", cell.source if cell.cell_type == "markdown" else ""):
                assert (HOME / f"{name}.ipynb").parent.joinpath(target).resolve().is_file(), f"{name}: {target}"


def test_archive_holds_the_published_folder():
    with zipfile.ZipFile(HOME / ARCHIVE) as archive:
        held = {name.removeprefix(f"{FOLDER}/"): archive.read(name) for name in archive.namelist()}
    published_files = {path.relative_to(HOME).as_posix(): path.read_bytes() for path in HOME.rglob("*")
                       if path.is_file() and path.name != ARCHIVE}
    assert held == published_files
    assert {f"{name}.ipynb" for name in NAMES} <= set(held)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_page_offers_its_notebook_once_and_no_other_host(page):
    soup = html(page.name)
    offered = [a["href"] for a in soup.find_all("a", class_="btn-notebook")]
    assert len(offered) == bool(page.notebook)
    for href in offered:
        assert (SITE / f"{page.name}.html").parent.joinpath(href).resolve() == HOME / f"{page.name}.ipynb"
    if not repository(ROOT)[0]:
        assert "colab.research" not in str(soup) and "mybinder" not in str(soup)


def test_the_landing_page_offers_the_archive():
    links = html(NAMES[0]).find_all("a", class_="archive")
    assert len(links) == 1
    assert (SITE / f"{NAMES[0]}.html").parent.joinpath(links[0]["href"]).resolve() == HOME / ARCHIVE


# With an address

@pytest.fixture
def addressed(tmp_path):
    def root(url: str):
        (tmp_path / "_config.yml").write_text(f"repository:\n  url: {url}\n  branch: site\n", encoding="utf-8")
        return tmp_path
    return root


def test_an_address_brings_buttons_that_open_the_published_notebook(addressed):
    root = addressed("https://github.com/somebody/some-book")
    made = buttons(root, Page(root, "chapters/one_head"))
    assert 'href="../notebooks/chapters/one_head.ipynb"' in made
    assert "https://colab.research.google.com/github/somebody/some-book/blob/site/notebooks/chapters/one_head.ipynb" in made
    assert "https://mybinder.org/v2/gh/somebody/some-book/site?urlpath=lab/tree/notebooks/chapters/one_head.ipynb" in made
    assert ".md" not in made


def test_an_address_lets_colab_fetch_the_helpers(addressed):
    cell = setup_cell(addressed("https://github.com/somebody/some-book"))
    assert "git clone --quiet --depth 1 --branch site https://github.com/somebody/some-book /content/book" in cell
    assert 'Path("/content/book/notebooks")' in cell
    assert "colab" not in setup_cell(addressed("")).lower()


def test_an_address_that_is_no_repository_is_refused(addressed):
    root = addressed("https://example.org/book")
    with pytest.raises(ValueError, match="repository: url: wanted https://github.com/OWNER/NAME or nothing"):
        buttons(root, Page(root, "chapters/one_head"))


# What travels along

def test_requirements_and_binder_follow_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readers, lab = set(project["dependencies"]), set(project["optional-dependencies"]["lab"])
    binder = {line for line in (ROOT / "binder" / "requirements.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"}
    assert binder == readers | lab
    archive = set(requirements(ROOT).split())
    assert archive < readers | lab and not archive & {line for line in readers if line.startswith("jupytext")}
    for name in ("requirements.txt", "postBuild", "runtime.txt"):
        assert (SITE / "binder" / name).read_bytes() == (ROOT / "binder" / name).read_bytes()


# How a page is turned into Markdown

def pieces(body: str, name: str = "chapters/page"):
    text, cells = markdown_and_cells(BeautifulSoup(f"<article>{body}</article>", "html.parser"), name, {"chapters/page", "book/other"})
    return [piece.strip() for piece in text], cells


def inline(tex: str) -> str:
    """A formula as the site's pages have it."""
    return f'<span class="math">{mathml(tex)}</span>'


def display(tex: str, number: str = "") -> str:
    return f'<div class="math"><div class="formula">{mathml(tex, display=True)}</div>{number}</div>'


def test_mathematics_boxes_tables_and_links():
    number = '<span class="eqno">(1.2)<a class="headerlink" href="#e">#</a></span>'
    text, _ = pieces(f"""
        <p>With {inline("a_1 < b_1")} see <a href="../book/other.html#x" title="long">there</a>, <a href="#y">here</a>.</p>
        {display("x_1 = 2", number)}
        <div class="note admonition"><p class="admonition-title">Mind</p><p>One.</p>{display("y" + chr(10) + "> 3")}</div>
        <div class="solution dropdown admonition"><p class="admonition-title">Answer</p><section><p>Two.</p></section></div>
        <table><caption><span class="caption-number">Table 3 </span><span class="caption-text">Of bars</span></caption><thead><tr><th>a</th></tr></thead><tbody><tr><td>{inline("|x|")}</td></tr></tbody></table>""")
    assert text == [r"""With $a_1 < b_1$ see [there](../book/other.ipynb), here.

$$
x_1 = 2 \tag{1.2}
$$

> **Mind**
>
> One.
>
> $$ y > 3 $$

<details>
<summary>Answer</summary>

Two.

</details>

**Table 3.** Of bars

| a |
| --- |
| $\vert x\vert $ |"""]


def test_a_solution_with_cells_folds_before_and_after_them():
    text, cells = pieces("""<div class="solution dropdown admonition"><p class="admonition-title">Solution to
        <a href="#x">Exercise 1.1</a> (<em>Title</em>)</p><section><p>Before.</p><div class="cell">code</div><p>After.</p></section></div>""")
    assert text == ["<details>\n<summary>Solution to Exercise 1.1</summary>\n\nBefore.\n\n</details>", "0",
                    "<details>\n<summary>Solution to Exercise 1.1, continued</summary>\n\nAfter.\n\n</details>"]
    assert [cell["answer"] for cell in cells] == [True]


@pytest.mark.parametrize("body, message", [
    ('<p><img src="lost.png"/></p>', "wanted every picture as the output of a cell, got lost.png"),
    ('<div class="note admonition"><p class="admonition-title">N</p><div class="cell">x</div></div>',
     "chapters/page: wanted code cells in the text or in a solution, got one in another box"),
])
def test_what_a_notebook_cannot_hold_is_refused(body, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        pieces(body)


def test_labels_are_read_from_the_page():
    found = labels(BeautifulSoup("""<article><section id="a"><span id="chap-a"></span><h1><span class="section-number">4. </span>A
        <em>name</em><a class="headerlink" href="#a">#</a></h1><table id="tab-x"><caption><span class="caption-number">Table 4.1 </span></caption></table>
        <div class="math" id="equation-eq-y"><span class="eqno">(4.2)<a class="headerlink">#</a></span></div></section></article>""",
                                   "html.parser"), "chapters/a")
    assert {label: entry["text"] for label, entry in found.items()} == {
        "chap-a": "A name", "tab-x": "Table 4.1", "eq-y": "equation (4.2)", "a": "A name", "chapters/a": "A name", "chapters/a#a": "A name"}


def test_outputs_keep_one_face_a_reader():
    made = output({"output_type": "display_data", "metadata": {}, "data": {
        "text/html": '<table id="tab-x"><caption>See {numref}<code>tab-y</code>.</caption></table>', "text/markdown": "x",
        "application/pdf": "x", "text/plain": "x"}}, {"tab-x": {"text": "Table 1.1"}, "tab-y": {"text": "Table 1.2"}}, "")
    assert set(made.data) == {"text/html", "text/plain"}
    assert "<strong>Table 1.1.</strong> See Table 1.2." in made.data["text/html"]
