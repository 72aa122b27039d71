"""Executed notebooks of the built site, and one archive with everything that they need.

A chapter is MyST Markdown, which Colab, VS Code and a plain Jupyter show as markup.  So each notebook is made from
the page as the site has it, with every reference resolved and every caption numbered, in plain Markdown, and from
the outputs in the execution cache.  The same site gives the same bytes.
"""

import hashlib
import json
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path
from posixpath import dirname, normpath, relpath

import nbformat
import yaml
from bs4 import BeautifulSoup, NavigableString
from markdownify import MarkdownConverter
from pybtex.database import parse_file

sys.path.insert(0, str(Path(__file__).parent))

from execute import SHARED, fingerprint  # noqa: E402
from pages import Page, github  # noqa: E402

FOLDER, ARCHIVE = "sequence-models-notebooks", "sequence-models-notebooks.zip"
CARRIED = (*(pattern for pattern in SHARED if pattern != "requirements.txt"), "LICENSE")  # what cells import and read
MARK = "\ue000"  # stands for a code cell while its page is turned into Markdown
METADATA = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python",
                              "nbconvert_exporter": "python", "pygments_lexer": "ipython3"}}
SETUP = '''\
# Makes `helpers` importable: from the folders beside this notebook{on_colab}.
import sys
from pathlib import Path
{fetch}
here = Path.cwd().resolve()
root = next((folder for folder in ({places}) if (folder / "helpers" / "example.py").is_file()), None)
if root is None:
    raise ModuleNotFoundError(f"wanted the folder helpers beside or above {{here}}, found none: "
                              "unpack the whole archive of notebooks and run this one where it lies in it")
sys.path.insert(0, str(root))'''
FETCH = '''
if "google.colab" in sys.modules and not Path("/content/book").exists():
    !git clone --quiet --depth 1 --branch {branch} {url} /content/book
    %pip install --quiet mdit-py-plugins
'''


class Plain(MarkdownConverter):
    """The site's HTML as Markdown that every notebook program shows: $mathematics$, quoted boxes, folded answers."""

    class Options(MarkdownConverter.DefaultOptions):
        heading_style = "atx"
        bullets = "-"
        code_language_callback = staticmethod(
            lambda pre: next((name[10:] for parent in pre.parents for name in parent.get("class", [])
                              if name.startswith("highlight-")), "").replace("ipython3", "python"))

    def escape(self, text, parent_tags):
        return super().escape(text.replace("&", "&amp;").replace("<", "&lt;"), parent_tags)

    def convert_span(self, el, text, parent_tags):
        if "math" not in el.get("class", []):
            return text
        tex = tex_of(el)
        in_table = {"td", "th"} & parent_tags  # where a bar would end the cell
        return "$" + (tex.replace("|", r"\vert ") if in_table else tex) + "$"

    def convert_div(self, el, text, parent_tags):
        kinds = el.get("class", [])
        if "math" in kinds:
            number = el.find(class_="eqno")
            tag = rf" \tag{{{number.get_text().strip('()')}}}" if number else ""
            tex = tex_of(el)
            boxed = el.find_parent(class_="admonition")  # a quoted line begins with >, which is no mathematics
            return f"\n\n$$ {' '.join((tex + tag).split())} $$\n\n" if boxed else f"\n\n$$\n{tex}{tag}\n$$\n\n"
        if "admonition" in kinds:
            title, _, body = text.strip().partition("\n\n")
            if "dropdown" in kinds:
                return f"\n\n<details>\n<summary>{title.strip('*')}</summary>\n\n{body.strip()}\n\n</details>\n\n"
            return "\n\n" + re.sub(r"(?m)^(?=.)", "> ", f"{title}\n\n{body.strip()}").replace("\n\n", "\n>\n") + "\n\n"
        if "sd-card-title" in kinds:
            return f"\n\n**{text.strip()}**\n\n"
        return f"\n\n{text.strip()}\n\n"

    def convert_p(self, el, text, parent_tags):
        if {"admonition-title", "caption"} & set(el.get("class", [])):  # of a box, and of a list of pages
            return f"**{' '.join(text.replace('*', '').split())}**\n\n"
        return super().convert_p(el, text, parent_tags)

    def convert_caption(self, el, text, parent_tags):
        number = el.find(class_="caption-number")
        said = number.get_text() if number else ""
        return f"\n\n**{said.strip()}.** {text.strip().removeprefix(said)}\n\n" if number else f"\n\n{text.strip()}\n\n"

    def convert_a(self, el, text, parent_tags):
        return super().convert_a(el, text, parent_tags) if el.get("href") else text

    def convert_img(self, el, text, parent_tags):
        raise ValueError(f"wanted every picture as the output of a cell, got {el.get('src')} in the text")


def tex_of(formula) -> str:
    """The TeX that a formula of the page carries with it."""
    return formula.find("annotation", encoding="application/x-tex").get_text().strip()


def site(root: Path, page: str) -> str:
    """The text of a built page, as HTML."""
    html = (root / "_build" / "html" / f"{page}.html").read_text(encoding="utf-8")
    return html[html.index("<article"):html.index("</article>")]


def labels(soup: BeautifulSoup, page: str) -> dict:
    """What the labels of one page stand for: label -> its words, the page to find it on, and a word's meaning."""
    article, found = soup.find("article"), {}
    for section in article.find_all("section", id=True):
        if heading := section.find(["h1", "h2", "h3", "h4"], recursive=False):
            found |= {name: plain_words(heading) for name in (section["id"], f"{page}#{section['id']}")}
            found |= {target["id"]: plain_words(heading) for target in section.find_all("span", id=True, recursive=False)}
            found |= {page: plain_words(heading)} if heading.name == "h1" else {}
    for number in article.find_all(class_=["caption-number", "eqno"]):
        if node := number.find_parent(id=True):
            equation = "eqno" in number["class"]
            found[node["id"].removeprefix("equation-")] = ("equation " if equation else "") + number.get_text().rstrip("# ")
    meanings = {term["id"]: " ".join(term.find_next("dd").find("p").get_text().partition("\nSee ")[0].split())
                for term in article.find_all("dt", id=re.compile("^term-"))}
    return {label: {"text": text, "page": page} for label, text in found.items()} | {
        term: {"text": term.removeprefix("term-"), "page": page, "says": says} for term, says in meanings.items()}


def plain_words(heading) -> str:
    """A heading without its number and its link."""
    return " ".join("".join(text for text in heading.strings
                            if not {"headerlink", "section-number"} & set(text.parent.get("class") or [])).split())


def citations(root: Path) -> dict:
    """Bibliography key -> "Vaswani et al. [2017]"."""
    def words(entry):
        names = [" ".join(person.last_names) for person in entry.persons.get("author", entry.persons.get("editor", []))]
        joined = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        return f"{joined} [{entry.fields.get('year', 'n.d.')}]"
    return {key: {"text": words(entry)} for key, entry in parse_file(root / "book" / "references.bib").entries.items()}


def unfold(article: BeautifulSoup, soup: BeautifulSoup):
    """Take cells out of folded solutions, which cannot hold them in a notebook; text before and after stays folded."""
    for box in article.find_all("div", class_="solution"):
        cells = box.find_all("div", class_="cell")
        if not cells:
            continue
        title = " ".join(box.find("p", class_="admonition-title").get_text(" ").partition("(")[0].split())
        body = box.find("section")
        pieces, run = [], None
        for child in list(body.children):
            child.extract()
            if getattr(child, "get", None) and "cell" in child.get("class", []):
                child["class"].append("answer")
                pieces.append(child)
                run = None
            elif run is not None or str(child).strip():
                if run is None:
                    run = soup.new_tag("div", attrs={"class": "dropdown admonition"})
                    heading = soup.new_tag("p", attrs={"class": "admonition-title"})
                    heading.string = title if not pieces else f"{title}, continued"
                    run.append(heading)
                    pieces.append(run)
                run.append(child)
        box.replace_with(*pieces)


def relink(article: BeautifulSoup, page: str, names: set[str]):
    """Links to pages lead to their notebooks; places within a page are named without a link."""
    for link in article.find_all("a", href=True):
        link.attrs.pop("title", None)
        href, _, _ = link["href"].partition("#")
        if re.match(r"[a-z]+:", href):
            continue
        target = normpath(f"{dirname(page)}/{href}").removesuffix(".html") if href else page
        if target in names and target != page:
            link["href"] = relpath(f"{target}.ipynb", dirname(page))
        else:
            link.unwrap()


def markdown_and_cells(soup: BeautifulSoup, page: str, names: set[str]):
    """The page in reading order: Markdown text, and for each code cell its number, caption, alt text and fold."""
    article = soup.find("article")
    for node in article.find_all(["script", "style"]) + article.find_all(class_=["headerlink", "site-only"]):
        node.decompose()
    unfold(article, soup)
    cells = article.find_all("div", class_="cell")
    shown = []
    for number, cell in enumerate(cells):
        caption, image = cell.find("figcaption"), cell.find("img")
        if caption:
            relink(caption, page, names)
        shown.append({"caption": Plain().convert_soup(caption).strip() if caption else "",
                      "alt": image.get("alt", "") if image else "", "answer": "answer" in cell["class"]})
        mark = soup.new_tag("p")
        mark.append(NavigableString(f"{MARK}{number}{MARK}"))
        cell.replace_with(mark)
    relink(article, page, names)
    pieces = re.split(rf"\s*^{MARK}(\d+){MARK}$\s*", Plain().convert_soup(article), flags=re.M)
    if MARK in "".join(pieces[::2]):
        raise ValueError(f"{page}: wanted code cells in the text or in a solution, got one in another box")
    return pieces, shown


def output(one, label_of: dict, alt: str):
    """An output with one face for each kind of reader: no print, no directive; captions numbered; pictures on white."""
    one = nbformat.from_dict(one)
    data = one.get("data", {})
    data.pop("application/pdf", None)
    if "text/html" in data:
        data.pop("text/markdown", None)
        number = lambda m: (f'{m[1]}<caption style="text-align: left; min-width: 30em"><strong>'
                            f'{label_of.get(m[2], {}).get("text", "Table")}.</strong> ')
        data["text/html"] = named(re.sub(r'(<table id="([^"]*)">)<caption>', number, data["text/html"]), label_of)
    if "text/markdown" in data:
        data["text/markdown"] = re.sub(r"\]\(([^)\s:]+)\.md(?:#[^)\s]*)?\)", r"](\1.ipynb)", data["text/markdown"])
    if "image/svg+xml" in data:
        words = alt.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
        data["image/svg+xml"] = data["image/svg+xml"].replace(
            "<svg ", f'<svg role="img" aria-label="{words}" style="background: white" ', 1)
    return one


def named(html: str, label_of: dict) -> str:
    """References within a table's caption or cells, in words."""
    return re.sub(r"\{(?:numref|ref|eq|cite:\w+)\}<code>([^<]*)</code>", lambda m: label_of.get(m[1], {"text": m[1]})["text"], html)


def repository(root: Path) -> tuple[str, str]:
    """The address of the repository, empty where none is set, and the branch that holds the published site."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8")).get("repository") or {}
    return (config.get("url") or "").rstrip("/"), config.get("branch") or "gh-pages"


def setup_cell(root: Path) -> str:
    """The first cell of each notebook."""
    url, branch = repository(root)
    colab = "github.com/" in url
    return SETUP.format(on_colab=", or, on Colab, from the book's repository" if colab else "",
                        fetch=FETCH.format(branch=branch, url=url) if colab else "",
                        places="here, *here.parents" + (', Path("/content/book/notebooks")' if colab else ""))


def code(cell, said: dict, label_of: dict):
    """A code cell with its outputs, folded as it is on the page."""
    tags = cell.metadata.get("tags", [])
    apart = said["answer"] or "remove-cell" in tags
    folds = {"source_hidden": True} if apart or {"hide-input", "remove-input"} & set(tags) else {}
    folds |= {"outputs_hidden": True} if apart else {}
    metadata = ({"tags": tags} if tags else {}) | ({"jupyter": folds} if folds else {})
    return nbformat.v4.new_code_cell(cell.source, metadata=metadata, execution_count=cell.execution_count,
                                     outputs=[output(one, label_of, said["alt"]) for one in cell.outputs])


def notebook(page: Page, soup: BeautifulSoup, names: set[str], label_of: dict):
    """One page as an executed notebook."""
    pieces, shown = markdown_and_cells(soup, page.name, names)
    source = [cell for cell in page.executed().cells if cell.cell_type == "code"] if page.notebook else []
    on_page = [number for number, cell in enumerate(source) if "remove-cell" not in cell.metadata.get("tags", [])]
    if len(on_page) != len(shown):
        raise ValueError(f"{page.name}: wanted {len(on_page)} code cells on the built page, found {len(shown)}")
    cells = [nbformat.v4.new_code_cell(setup_cell(page.root), metadata={"tags": ["setup"]})] if source else []
    caption, written = "", 0
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            text = "\n\n".join(filter(None, (caption, piece.strip())))
            if text:
                cells.append(nbformat.v4.new_markdown_cell(re.sub(r"\n{3,}", "\n\n", text)))
            continue
        said, last = shown[int(piece)], on_page[int(piece)]
        cells += [code(cell, said, label_of) for cell in source[written:last + 1]]  # with those the page leaves out
        written = last + 1
        number, _, words = re.match(r"((?:Figure|Table) [\d.]*\d)?( ?)(.*)", said["caption"], re.S).groups()
        caption = f"**{number}.** {words}" if number else words
    cells += [code(cell, {"answer": False, "alt": ""}, label_of) for cell in source[written:]]
    for i, cell in enumerate(cells):
        cell.id = f"{page.name.rpartition('/')[2][:50].replace('_', '-')}-{i}"
    return nbformat.v4.new_notebook(cells=cells, metadata=METADATA)


def requirements(root: Path) -> str:
    """What a reader of the notebooks installs, with lower bounds only."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [line for line in project["dependencies"] if not line.startswith("jupytext")]
    return "\n".join(sorted(wanted + [line for line in project["optional-dependencies"]["lab"] if line.startswith("jupyterlab>")])) + "\n"


def publish(root: Path, book: list[Page]) -> Path:
    """Write the notebooks of the built site beside it, with all they need, and the archive; return the archive's path.

    `_build/html/notebooks/` is the unpacked archive; pages that have not changed since their notebook was written
    are left as they are.
    """
    home, names = root / "_build" / "html" / "notebooks", {page.name for page in book}
    numbers, record = root / "_build" / "labels.json", root / "_build" / "notebooks.json"
    before, done = (json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {} for path in (numbers, record))
    made_by = Path(__file__).read_text(encoding="utf-8") + setup_cell(root) + fingerprint(root)
    soups, states, known = {}, {}, {}
    for page in book:
        text = site(root, page.name)
        states[page.name] = hashlib.sha256("\0".join((made_by, page.text, text)).encode()).hexdigest()
        if (home / f"{page.name}.ipynb").is_file() and done.get(page.name) == states[page.name]:
            known |= {label: entry for label, entry in before.items() if entry.get("page") == page.name}
        else:
            soups[page.name] = BeautifulSoup(text, "html.parser")
            known |= labels(soups[page.name], page.name)
    known |= citations(root)
    numbers.write_text(json.dumps(known, indent=0, ensure_ascii=False, sort_keys=True), encoding="utf-8")
    record.unlink(missing_ok=True)  # until every notebook stands
    clear(home, names)
    for page in (page for page in book if page.name in soups):
        made = home / f"{page.name}.ipynb"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(nbformat.writes(notebook(page, soups[page.name], names, known)) + "\n", encoding="utf-8")
    record.write_text(json.dumps(states, indent=0), encoding="utf-8")
    for pattern in CARRIED:
        for path in (p for p in root.glob(pattern) if p.is_file()):
            target = home / path.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    (home / "requirements.txt").write_text(requirements(root), encoding="utf-8")
    shutil.copyfile(root / "book" / "_jupyter" / "archive.md", home / "README.md")
    if (root / "binder").is_dir():
        shutil.copytree(root / "binder", root / "_build" / "html" / "binder", dirs_exist_ok=True)
    return pack(home)


def clear(home: Path, names: set[str]):
    """Take away what is carried along, to be copied afresh, and notebooks of pages that are no more."""
    for path in [p for p in home.rglob("*") if p.is_file()] if home.is_dir() else []:
        if path.suffix != ".ipynb" or path.relative_to(home).with_suffix("").as_posix() not in names:
            path.unlink()


def pack(home: Path) -> Path:
    """One archive of the folder, byte for byte the same for the same files."""
    files = sorted(path for path in home.rglob("*") if path.is_file())
    with zipfile.ZipFile(home / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            entry = zipfile.ZipInfo(f"{FOLDER}/{path.relative_to(home).as_posix()}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_bytes())
    return home / ARCHIVE


def button(href: str, icon: str, words: str, label: str, more: str = "") -> str:
    return (f'<a class="btn btn-sm pst-navbar-icon btn-{label}" href="{href}" title="{words}" aria-label="{words}" '
            f'data-bs-placement="bottom" data-bs-toggle="tooltip"{more}>'
            f'<span class="btn__icon-container">{icon}</span></a>\n')


def buttons(root: Path, page: Page) -> str:
    """The head of a page offers its notebook, and where the repository has an address, Colab and Binder."""
    up = relpath(".", dirname(page.name))
    out = button(f"{up}/notebooks/{page.name}.ipynb", '<i class="fa-solid fa-download"></i>',
                 "Download this page as an executed notebook", "notebook", " download")
    url, branch = repository(root)
    if url:
        place, path = "/".join(github(url)), f"notebooks/{page.name}.ipynb"
        for name, logo, address in (
                ("Colab", "logo_colab.png", f"https://colab.research.google.com/github/{place}/blob/{branch}/{path}"),
                ("Binder", "logo_binder.svg", f"https://mybinder.org/v2/gh/{place}/{branch}?urlpath=lab/tree/{path}")):
            out += button(address, f'<img alt="" src="{up}/_static/images/{logo}">', f"Run this page on {name}", name.lower())
    return out


def offer(root: Path, page: Page):
    """Put the buttons on the built page, in place of those that an earlier build has put there."""
    path = root / "_build" / "html" / f"{page.name}.html"
    text, opening = path.read_text(encoding="utf-8"), '<div class="article-header-buttons">\n'
    if not page.notebook:
        return
    if opening not in text:
        raise ValueError(f"{page.name}: wanted a row of buttons at its head, found none")
    made = re.sub(r'<a class="[^"]*\bbtn-(?:notebook|colab|binder)".*?</a>\n', "", text)
    made = made.replace(opening, opening + buttons(root, page), 1)
    head, card, body = made.partition("Run it in Jupyter</div>")  # on the landing page
    if card and archive_link(page) not in body:
        made = head + card + body.replace("</div>", archive_link(page) + "</div>", 1)
    path.write_text(made, encoding="utf-8")


def archive_link(page: Page) -> str:
    return (f'<p class="sd-card-text site-only"><a class="archive" download href="{relpath(".", dirname(page.name))}'
            f'/notebooks/{ARCHIVE}">All notebooks in one archive</a></p>\n')
