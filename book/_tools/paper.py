"""The book on paper: the whole book as a PDF, and a handout for every chapter, each for students and for instructors.

Usage: paper.py book      [--edition student|instructor] [--paper a4|letter]
       paper.py handouts  the same, and [--chapter NAME]

Jupyter Book's LaTeX builder writes every page once (`sphinx_paper.py`); here the pages are put together, all of them
as the book, one as a handout, with the answers or without, and XeLaTeX sets them in the design of `paper.sty`.
Nothing is executed: outputs come from the cache that the website filled, and numbers are the website's.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import yaml

sys.path.insert(0, str(Path(__file__).parent))

import build  # noqa: E402
from execute import fingerprint  # noqa: E402
from paper_links import link, made  # noqa: E402
from pages import address, pages  # noqa: E402

MARK = "%%% "  # as in sphinx_paper.py
EDITIONS = ("student", "instructor")
OVERFULL = 5.0  # points that a line may stick out
RUNS = 5
PACKAGES = ("unicode-math", "polyglossia", "fancyvrb", "tcolorbox", "titlesec", "tabulary", "newunicodechar", "needspace",
            "bookmark", "capt-of", "framed", "wrapfig", "upquote")
FONTS = ("SourceSerifPro-Regular", "SourceSansPro-Regular", "SourceCodePro-Regular", "STIXTwoMath-Regular")
INSTALL = """\
Typesetting needs XeLaTeX with some packages and fonts; {what}.
  Debian, Ubuntu   sudo apt install texlive-xetex texlive-latex-extra texlive-fonts-recommended texlive-fonts-extra
  macOS            brew install --cask mactex-no-gui
  Windows          winget install MiKTeX.MiKTeX, and let it install missing packages
Nothing has been built."""
START = r"""\documentclass[10pt,oneside,openany]{{report}}
\newcommand{{\bookpaper}}{{{paper}}}
\newcommand{{\bookauthor}}{{{author}}}
\usepackage{{paper}}
\newcommand{{\booktitle}}{{{title}}}
\newcommand{{\bookdate}}{{{date}}}
\newcommand{{\bookaddress}}{{{address}}}
\newcommand{{\bookpage}}{{{page}}}
{switches}
\hypersetup{{pdftitle={{{name}}},pdfsubject={{{subject}}}}}
\begin{{document}}
"""


def say(*words):
    print(*words, flush=True)


def require_latex():
    """Stop before anything is built when something to typeset with is missing."""
    programs = [name for name in ("xelatex", "xdvipdfmx", "kpsewhich") if shutil.which(name) is None]
    if programs:
        sys.exit(INSTALL.format(what=f"wanted {', '.join(programs)} on the path, found none"))
    if "MiKTeX" in subprocess.run(["xelatex", "--version"], capture_output=True, text=True).stdout:
        return  # fetches what is missing while it typesets
    files = [f"{name}.sty" for name in PACKAGES] + [f"{name}.otf" for name in FONTS]
    found = subprocess.run(["kpsewhich", *files], capture_output=True, text=True).stdout.split()
    missing = sorted(set(files) - {Path(path).name for path in found})
    if missing:
        sys.exit(INSTALL.format(what=f"wanted {', '.join(missing)}, found none"))


# The LaTeX of the pages


def state(root: Path) -> str:
    """A hash of everything that the LaTeX of the pages is made from."""
    digest = hashlib.sha256(fingerprint(root).encode())
    paths = [page.path for page in pages(root)] + [root / "_config.yml", root / "_toc.yml"]
    paths += [p for pattern in ("sphinx_*.py", "../*.bib") for p in (root / "book" / "_tools").glob(pattern)]
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def latex_source(root: Path) -> Path:
    """Build the site and let Jupyter Book's LaTeX builder write every page, unless nothing has changed since."""
    folder = root / "_build" / "latex"
    stamp, now = folder / "state", state(root)
    if not (stamp.is_file() and stamp.read_text() == now and (root / "_build" / "html" / "index.html").is_file()):
        build.main(root)  # first, so that the site is never older than its PDFs
        stamp.unlink(missing_ok=True)
        start = time.perf_counter()
        build.jupyter_book(root, "latex")
        stamp.write_text(now)
        say(f"Writing the pages as LaTeX: {time.perf_counter() - start:.1f} s")
    shutil.copy(Path(__file__).parent / "paper.sty", folder)
    return folder


class Page(NamedTuple):
    """One page of the book as LaTeX: (kind, text) pieces, kind being "text" or "answer"."""

    name: str
    number: str
    title: str
    pieces: list

    def latex(self, student: bool) -> str:
        return "".join(text for kind, text in self.pieces if not (student and kind == "answer"))


class Book(NamedTuple):
    """All pages in reading order, and the bibliography: key -> LaTeX."""

    root: Path
    pages: dict
    entries: dict

    @property
    def chapters(self) -> dict:
        return {name: page for name, page in self.pages.items() if page.number}


def read_book(root: Path, text: str) -> Book:
    """Cut what the writer wrote at its marks."""
    pages, entries, page, entry, kind = {}, {}, None, None, "text"
    for line in text.splitlines(keepends=True):
        if line.startswith(MARK):
            word, _, more = line[len(MARK):].strip().partition(" {")
            more = json.loads("{" + more) if more else {}
            if word == "page":
                page = pages[more["name"]] = Page(more["name"], more["number"], more["title"], [])
            elif word == "entry":
                entry = more["key"]
            elif word in ("entries end", "end"):
                entry, page = None, page if word != "end" else None
            kind = "answer" if word == "answer" else "text"
        elif entry:
            entries[entry] = entries.get(entry, "") + line
        elif page:
            page.pieces.append((kind, line))
    return Book(root, pages, entries)


# Putting pages together


def escape(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def config(root: Path) -> dict:
    return yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))


def start(book: Book, edition: str, options, name: str = "", page: str = "") -> str:
    settings = config(book.root)
    title, sheet = settings["title"], (Path(__file__).parent / "paper.sty").read_bytes()
    switches = (r"\studenttrue" if edition == "student" else r"\studentfalse") + (r"\handouttrue" if page else r"\handoutfalse")
    return f"% {hashlib.sha256(sheet).hexdigest()}\n" + START.format(
        paper=options.paper, author=escape(settings["author"]), title=escape(title), date=f"{options.date.day} {options.date:%B %Y}",
        address=rf"\url{{{options.address}}}" if options.address else "", page=page, switches=switches,
        name=escape(f"{name}, {edition} edition" if name else f"{title}, {edition} edition"),
        subject=escape(f"Handout from {title}" if name else "A textbook on sequence models"))


def chapter(page: Page, student: bool) -> str:
    return (rf"\setcounter{{secnumdepth}}{{2}}\setcounter{{chapter}}{{{int(page.number) - 1}}}" if page.number
            else r"\setcounter{secnumdepth}{-2}") + "\n" + page.latex(student)


def whole_book(book: Book, edition: str, options) -> str:
    """Title page, contents, what stands before the first part, the parts, what stands at the back."""
    student, toc = edition == "student", yaml.safe_load((book.root / "_toc.yml").read_text(encoding="utf-8"))
    front = book.pages[toc["root"]]
    out = [start(book, edition, options), rf"\bookcover{{{edition.title()} edition}}",
           r"\pagestyle{plain}\setcounter{page}{2}\bookcontents\pagestyle{normal}",
           r"\addtocontents{toc}{\protect\setcounter{tocdepth}{0}}",
           r"\setcounter{secnumdepth}{-2}\chapter{About this book}", front.latex(student)]
    seen = False
    for part in toc["parts"]:
        numeral, _, words = re.sub(r"^Part ", "", part["caption"]).partition(": ")
        if part.get("numbered"):
            inside = [book.pages[entry["file"].removesuffix(".md")] for entry in part["chapters"]]
            listed = "".join(rf"\bookpartchapter{{{p.number}}}{{{p.name}::doc}}{{{escape(p.title)}}}" for p in inside)
            out.append(r"\addtocontents{toc}{\protect\setcounter{tocdepth}{1}}")
            out.append(rf"\setcounter{{secnumdepth}}{{2}}\renewcommand{{\thepart}}{{{numeral}}}\bookpartlist{{{listed}}}")
            out.append(rf"\part{{{escape(words or numeral)}}}")
            seen = True
        elif seen:  # at the back: a heading among the contents, no page of its own
            out.append(rf"\clearpage\phantomsection\addcontentsline{{toc}}{{part}}{{{escape(part['caption'])}}}"
                       r"\addtocontents{toc}{\protect\setcounter{tocdepth}{0}}")
        for number, entry in enumerate(part["chapters"]):
            page = book.pages[entry["file"].removesuffix(".md")]
            text = chapter(page, student)
            alone = page.number or seen and not number or "{bookcompact}" in text  # a sheet to be carried about
            out += [r"\bookfresh" if alone else r"\bookfollow", text]
            if any(key.startswith(f"{page.name}:") for key in book.entries):
                out += book.entries.values()
    return "\n".join([*out, index("\n".join(out)), r"\end{document}", ""])


def index(text: str) -> str:
    """The words of the glossary with the pages on which each chapter uses them first."""
    places = {}
    for key, word in re.findall(r"\\bookindex\{([^{}]*)\}\{([^{}]*)\}", text):
        places.setdefault(word, []).append(rf"\bookindexpage{{{key}}}")
    lines = [rf"\bookindexline{{{word}}}{{{', '.join(keys)}}}" for word, keys in sorted(places.items(), key=lambda p: p[0].lower())]
    return "\n".join([r"\bookfresh\chapter{Index}\begin{multicols}{2}\raggedright\small\parskip=1pt", *lines, r"\end{multicols}"]) if lines else ""


def handout(book: Book, page: Page, edition: str, options) -> str:
    """One chapter with a head of its own, and with the references that it cites."""
    text = chapter(page, edition == "student")
    cited = [entry for key, entry in book.entries.items() if rf"\bookcite{{{key}}}" in text]
    references = [r"\section*{References}", *cited] if cited else []
    return "\n".join([start(book, edition, options, page.title, page.name), r"\titleclass{\chapter}{straight}",
                      r"\pagestyle{normal}", rf"\bookhandouthead{{{edition.title()} edition}}", text, *references,
                      r"\end{document}", ""])


def slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def file_names(chapters: dict) -> dict:
    """File names for people: the first clause of each title, or all of it where two begin alike."""
    short = {name: slug(re.split(r"[,:]", page.title)[0]) for name, page in chapters.items()}
    return {name: short[name] if list(short.values()).count(short[name]) == 1 else slug(page.title)
            for name, page in chapters.items()}


def date_of_book(root: Path) -> datetime.date:
    """The day of the last commit, so that the same source gives the same page; today outside a checkout."""
    said = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=root, capture_output=True, text=True).stdout.strip()
    return datetime.date.fromisoformat(said) if said else datetime.date.today()


# Typesetting


class NotTypeset(Exception):
    """XeLaTeX stopped, or something is unresolved, missing or sticks out."""


def troubles(log: str) -> list[str]:
    """What a reader would see: errors, references to nothing, characters no font has, lines and pages that overflow."""
    found = re.findall(r"^! .*(?:\n.*){0,3}", log, re.M)
    found += re.findall(r"^(?:LaTeX|Package hyperref) Warning: .*undefined.*", log, re.M)
    found += re.findall(r"^LaTeX Warning: Label .* multiply defined.*", log, re.M)  # hides that page numbers have changed
    found += re.findall(r"^Missing character: .*", log, re.M)
    found += [line for line in re.findall(r"^Overfull .*", log, re.M) if float(re.search(r"([\d.]+)pt", line)[1]) > OVERFULL]
    return sorted(set(found))


def run(command: list, folder: Path, date: datetime.date) -> subprocess.CompletedProcess:
    seconds = int(datetime.datetime(date.year, date.month, date.day, tzinfo=datetime.timezone.utc).timestamp())
    environment = os.environ | {"max_print_line": "1000", "FORCE_SOURCE_DATE": "1", "SOURCE_DATE_EPOCH": str(seconds)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")


def typeset(folder: Path, text: str, target: Path, date: datetime.date) -> tuple[int, str]:
    """Run XeLaTeX until its files stand still; move the PDF into place only when it is as it should be.

    Returns the number of pages and what it took, in words.
    """
    name, begin = target.stem, time.perf_counter()
    source, log = folder / f"{name}.tex", folder / f"{name}.log"
    if target.is_file() and source.is_file() and source.read_text(encoding="utf-8") == text:
        return pages_in(log.read_text(encoding="utf-8", errors="replace")), "up to date"
    for old in (target, *(folder / f"{name}.{kind}" for kind in ("aux", "toc", "out"))):
        old.unlink(missing_ok=True)  # the same pages come out, whatever was there before
    source.write_text(text, encoding="utf-8")
    for count in range(1, RUNS + 1):
        done = run(["xelatex", "-no-pdf", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"], folder, date)
        said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else done.stdout
        if done.returncode or not re.search(r"Rerun to get|\(re\)run|Rerun LaTeX|Table widths have changed", said):
            break
    found = troubles(said) or ([done.stdout[-800:]] if done.returncode else [])
    if not found:
        done = run(["xdvipdfmx", "-q", "-o", f"{name}.pdf", f"{name}.xdv"], folder, date)
        found = [done.stderr] if done.returncode else []
    if found:
        raise NotTypeset(f"{target.name} was not typeset (details in {log}):\n  " + "\n  ".join(found))
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(folder / f"{name}.pdf", target)
    return pages_in(said), f"{count} run{'s' * (count > 1)}, {time.perf_counter() - begin:.1f} s"


def pages_in(log: str) -> int:
    return int(re.search(r"Output written on .* \((\d+) pages?", log)[1])


class Document(NamedTuple):
    """One PDF to be made."""

    target: Path
    text: str
    page: str  # its chapter, "" for the whole book
    title: str
    edition: str
    order: int


def make(folder: Path, documents: list[Document], date: datetime.date) -> tuple[dict, list[str]]:
    """Typeset several documents, two at a time; return the number of pages of each, and what went wrong."""
    counts, faults = {}, []

    def work(document):
        try:
            counts[document], how = typeset(folder, document.text, document.target, date)
            say(f"  {document.target.name}: {counts[document]} pages, {how}")
        except NotTypeset as error:
            faults.append(str(error))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, documents))
    return counts, faults


def note(root: Path, counts: dict):
    """Write down what was made, beside what was made before; a PDF under a chapter's former title is taken away."""
    out, now = root / "_build" / "pdf", state(root)
    new = {(document.page, document.edition): document.target for document in counts}
    known = made(root)
    for name, entry in list(known.items()):
        if (out / name) != new.get((entry["page"], entry["edition"]), out / name):
            (out / name).unlink()
            del known[name]
    for document, count in counts.items():
        known[document.target.relative_to(out).as_posix()] = {
            "page": document.page, "title": document.title, "edition": document.edition, "order": document.order,
            "pages": count, "state": now}
    (out / "made.json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("book", "handouts"))
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--chapter", help="the name of its file, such as one_head")
    parser.add_argument("--edition", choices=EDITIONS)
    parser.add_argument("--paper", choices=("a4", "letter"), default="a4")
    options = parser.parse_args()
    require_latex()
    root, begin = options.root.resolve(), time.perf_counter()
    options.address = address(root)
    options.date = date_of_book(root)
    known = [page.name.removeprefix("chapters/") for page in pages(root) if page.name.startswith("chapters/")]
    if options.chapter not in (None, *known):
        sys.exit(f"chapter: wanted one of {', '.join(known)}, got {options.chapter!r}")
    folder = latex_source(root)
    book = read_book(root, (folder / "book.tex").read_text(encoding="utf-8"))
    editions, out = [options.edition] if options.edition else EDITIONS, root / "_build" / "pdf"
    if options.what == "book":
        title = config(root)["title"]
        documents = [Document(out / f"{slug(title)}-{edition}.pdf", whole_book(book, edition, options), "", "The whole book", edition, 0)
                     for edition in editions]
    else:
        names = file_names(book.chapters)
        documents = [Document(out / "handouts" / f"{names[name]}-{edition}.pdf", handout(book, page, edition, options),
                              name, f"Chapter {page.number}, {page.title}", edition, int(page.number))
                     for name, page in book.chapters.items() if options.chapter in (None, name.rpartition("/")[2])
                     for edition in editions]
    say(f"Typesetting {len(documents)} PDF{'s' * (len(documents) > 1)}")
    counts, faults = make(folder, documents, options.date)
    out.mkdir(parents=True, exist_ok=True)
    note(root, counts)
    link(root)
    if faults:
        sys.exit("\n\n".join(sorted(faults)))
    say(f"{sum(counts.values())} pages in {time.perf_counter() - begin:.1f} s: {out}")


if __name__ == "__main__":
    main()
