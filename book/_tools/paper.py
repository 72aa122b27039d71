"""The book on paper: the whole book as one PDF, and a handout for every chapter in two editions.

Usage: paper.py book
       paper.py handouts [--chapter NAME] [--edition student|instructor] [--paper a4|letter]

A handout is the chapter's own part of the whole book's LaTeX, typeset with the whole book's numbers: its
counters start where the book's stand, and references into other chapters take their numbers from the book.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from execute import execute  # noqa: E402
from pages import pages  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("fncychap.sty", "tabulary.sty", "tcolorbox.sty", "titlesec.sty", "unicode-math.sty", "ucharclasses.sty",
          "pgfplots.sty", "bbm.sty", "SourceSerifPro-Regular.otf", "SourceSansPro-Regular.otf", "SourceCodePro-Regular.otf",
          "STIXTwoMath-Regular.otf")
INSTALL = """\
Typesetting needs XeLaTeX with some packages and fonts; {what}.
  Debian, Ubuntu   sudo apt install texlive-xetex texlive-latex-extra texlive-fonts-extra latexmk poppler-utils
  macOS            brew install --cask mactex      (or MacTeX from the TeX Users Group)
  Windows          MiKTeX with "install missing packages: yes", or TeX Live
Nothing has been built."""
EDITIONS = ("student", "instructor")
OVERFULL = 5.0  # points that a line may stick out


def say(*words):
    print(*words, flush=True)


def require_latex():
    """Stop before anything is built when something to typeset with is missing."""
    programs = [name for name in ("xelatex", "latexmk", "kpsewhich") if shutil.which(name) is None]
    if programs:
        sys.exit(INSTALL.format(what=f"wanted {', '.join(programs)} on the path, found none"))
    missing = [name for name in NEEDED if not subprocess.run(["kpsewhich", name], capture_output=True).stdout.strip()]
    if missing:
        sys.exit(INSTALL.format(what=f"wanted {', '.join(missing)}, not found"))


def latex_source(edition: str) -> Path:
    """Let Jupyter Book's LaTeX builder write the whole book; outputs come from the execution cache."""
    from jupyter_book.sphinx import build_sphinx

    out = ROOT / "_build" / "latex" / edition
    overrides = {"external_toc_path": (ROOT / "_toc.yml").as_posix(), "latex_individualpages": False, "nitpicky": True,
                 "book_hide_solutions": edition == "student",
                 "nb_execution_cache_path": str(ROOT / "_build" / ".jupyter_cache")}
    result = build_sphinx(ROOT, out, noconfig=True, path_config=ROOT / "_config.yml", confoverrides=overrides,
                          doctreedir=ROOT / "_build" / ".doctrees-paper", builder="latex",
                          warningiserror=True, keep_going=True, quiet=True)
    if result:
        shutil.rmtree(ROOT / "_build" / ".doctrees-paper", ignore_errors=True)
        sys.exit(f"The LaTeX source of the {edition} edition was not written; see the warnings above.")
    shutil.copy(Path(__file__).parent / "paper.sty", out)
    return out


def braces(text: str, start: int) -> int:
    """The index after the group that opens at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0) * (text[i - 1] != "\\")
        if depth == 0:
            return i + 1
    raise ValueError("a group is not closed")


class Source:
    """The LaTeX that Sphinx wrote, cut at its parts and chapters."""

    def __init__(self, folder: Path, paper: str):
        self.folder = folder
        text = next(folder.glob("*.tex.sphinx"), None) or next(folder.glob("*.tex"))
        text = text.read_text(encoding="utf-8")
        head, _, rest = text.partition(r"\begin{document}")
        body = rest[rest.index(r"\phantomsection\label"):rest.rindex(r"\end{document}")]
        self.preamble = re.sub(r"(\\documentclass\[)\w+paper", rf"\1{paper}paper", head)
        self.title = re.search(r"\\title\{(.*)\}", head).group(1)
        pieces = re.split(r"(?m)^(?=\\(?:part|chapter)\{)", body.replace(r"\sphinxstepscope", ""))
        self.intro, self.pieces = pieces[0], []
        number, numbered = 0, False
        for piece in pieces[1:]:
            name = piece[piece.index("{") + 1:braces(piece, piece.index("{")) - 1]
            if piece.startswith(r"\part"):
                roman = re.match(r"Part ([IVX]+): (.*)", name)
                numbered = bool(roman)
                self.pieces.append(("part", roman.groups() if roman else (None, name), None, piece))
            elif doc := re.search(r"\\label\{\\detokenize\{([^:}]+)::doc\}\}", piece):
                number += numbered
                self.pieces.append(("chapter", name, (doc.group(1), number if numbered else None), piece))
            else:  # the bibliography's own heading and the like
                self.pieces.append(("chapter", name, (None, None), piece))

    def chapters(self) -> dict:
        """Page name -> (number, title, LaTeX) of the numbered chapters."""
        return {doc: (number, name, piece) for kind, name, (doc, number), piece in
                (p for p in self.pieces if p[0] == "chapter") if number}

    def document(self, body: str, student: bool, title: str = "", labels: str = "") -> str:
        """A complete LaTeX document around a body, in the book's own style."""
        settings = [r"\usepackage{paper}", rf"\newcommand{{\booktitle}}{{{self.title}}}",
                    rf"\newcommand{{\bookaddress}}{{{os.environ.get('BOOK_ADDRESS', '')}}}",
                    r"\studenttrue" if student else r"\studentfalse",
                    rf"\hypersetup{{pdftitle={{{title or self.title}}},pdflang={{en}},bookmarksnumbered=true}}"]
        return self.preamble + "\n".join(settings) + f"\n\\makeatletter\n{labels}\\makeatother\n\\begin{{document}}\n" + body + "\n\\end{document}\n"

    def book(self, date: str) -> str:
        """The whole book: title, contents, front matter, numbered parts, back matter."""
        out = [r"\pagestyle{empty}\begin{titlepage}\sffamily\null\vfill{\color{bookrows}\Huge\bfseries\raggedright "
               + self.title + r"\par}\vspace{2em}{\Large\raggedright A textbook in which every number is computed\par}"
               r"\vfill{\color{bookgrey}" + date + r"\hfill\bookaddress\par}\end{titlepage}",
               r"\pagestyle{plain}\setcounter{tocdepth}{1}\tableofcontents\clearpage\pagestyle{normal}",
               r"\setcounter{secnumdepth}{-2}\chapter{About this book}", self.intro]
        for kind, name, place, piece in self.pieces:
            if kind == "part":
                numeral, words = name
                rest = piece[braces(piece, piece.index("{")):]
                if numeral:
                    value = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6}[numeral]
                    out.append(rf"\setcounter{{secnumdepth}}{{2}}\setcounter{{part}}{{{value - 1}}}\part{{{words}}}{rest}")
                elif len(out) > 4:
                    out.append(rf"\setcounter{{secnumdepth}}{{-2}}\setcounter{{chapter}}{{0}}\renewcommand{{\theHfigure}}"
                               rf"{{back\arabic{{figure}}}}\renewcommand{{\theHtable}}{{back\arabic{{table}}}}\part{{{words}}}{rest}")
            else:
                out.append(piece)
        return self.document("\n".join(out), student=False)

    def handout(self, doc: str, edition: str, date: str, labels: str) -> str:
        """One chapter with the book's numbers and a head of its own."""
        chapters = self.chapters()
        number, name, piece = chapters[doc]
        body = (rf"\pagestyle{{normal}}\setcounter{{secnumdepth}}{{2}}\setcounter{{chapter}}{{{number - 1}}}"
                + piece.replace(r"\chapter{", rf"\begingroup\renewcommand{{\clearpage}}{{}}\handouthead{{{edition.title()}}}{{{date}}}"
                                r"\chapter{", 1).replace("\n", "\\endgroup\n", 1))
        return self.document(outside(body, doc, chapters), edition == "student", f"{name} ({edition} edition)", labels)


def outside(body: str, doc: str, chapters: dict) -> str:
    """References into other chapters: no link, which would lead nowhere, but the chapter's number."""
    link = re.compile(r"\\hyperref\[\\detokenize\{([^:}]+):[^}]*\}\]")
    done, position = [], 0
    while match := link.search(body, position):
        end = braces(body, match.end())
        text, other = body[match.end() + 1:end - 1], match.group(1)
        done.append(body[position:match.start()])
        if other == doc:
            done.append(body[match.start():end])
        else:
            where = chapters.get(other)
            done.append("{" + text + "}" + (f" in chapter~{where[0]}" if where else ""))
        position = end
    return "".join(done) + body[position:]


def labels_of(aux: Path, doc: str) -> str:
    """What the whole book's labels of other chapters stand for."""
    lines = [line for line in aux.read_text(encoding="utf-8").splitlines() if line.startswith(r"\newlabel{")]
    return "\n".join(line for line in lines if f"{{{doc}:" not in line and f":{doc}:" not in line) + "\n"


def typeset(folder: Path, name: str, text: str, target: Path):
    """Run XeLaTeX; move the PDF into place only when nothing is unresolved, missing or sticking out."""
    (folder / f"{name}.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(["latexmk", "-xelatex", "-interaction=nonstopmode", "-halt-on-error", "-silent", f"{name}.tex"],
                          cwd=folder, capture_output=True, text=True, errors="replace")
    log = (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace") if (folder / f"{name}.log").exists() else ""
    troubles = re.findall(r"(?m)^! .*(?:\n.*){0,3}", log) if done.returncode else []
    troubles += sorted(set(re.findall(r"LaTeX Warning: (?:Reference|Citation|Hyper reference) .*undefined.*", log)))
    troubles += sorted(set(re.findall(r"Missing character: .*", log)))
    troubles += [f"Overfull by {size} pt {where.strip()}" for size, where in
                 re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)(.*)", log) if float(size) > OVERFULL]
    if done.returncode or troubles:
        lines = "\n  ".join(troubles or [done.stdout[-800:] + done.stderr[-800:]])
        raise RuntimeError(f"{target.name} was not typeset (details in {folder / name}.log):\n  {lines}")
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(folder / f"{name}.pdf", target)


def slug(title: str) -> str:
    """A file name for people: the first clause of a chapter's title."""
    return re.sub(r"[^a-z0-9]+", "-", re.split(r"[,:]", title)[0].lower()).strip("-")


def date_of_book() -> str:
    """The day of the last commit, so that the same source gives the same page; today outside a checkout."""
    said = subprocess.run(["git", "log", "-1", "--format=%cs"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return said or time.strftime("%Y-%m-%d")


def timed(what: str, action):
    start = time.perf_counter()
    result = action()
    say(f"{what}: {time.perf_counter() - start:.1f} s")
    return result


def make_book(paper: str) -> Source:
    failures = execute(ROOT, pages(ROOT), say=say)
    if failures:
        sys.exit("\n\n".join(failures))
    folder = timed("LaTeX source, instructor edition", lambda: latex_source("instructor"))
    source = Source(folder, paper)
    target = ROOT / "_build" / "pdf" / f"{slug(source.title)}.pdf"
    timed("The whole book", lambda: typeset(folder, "book", source.book(date_of_book()), target))
    say(f"  {target}")
    return source


def make_handouts(chapter: str | None, editions, paper: str):
    instructor = make_book(paper)
    known = instructor.chapters()
    wanted = [doc for doc in known if chapter in (None, doc, doc.rpartition("/")[2])]
    if not wanted:
        sys.exit(f"chapter: wanted one of {', '.join(doc.rpartition('/')[2] for doc in known)}, got {chapter!r}")
    aux, date = instructor.folder / "book.aux", date_of_book()
    for edition in editions:
        source = instructor if edition == "instructor" else Source(
            timed("LaTeX source, student edition", lambda: latex_source("student")), paper)
        for doc in wanted:
            name = f"{slug(known[doc][1])}-{edition}"
            text = source.handout(doc, edition, date, labels_of(aux, doc))
            timed(f"{name}.pdf", lambda: typeset(source.folder, name, text, ROOT / "_build" / "pdf" / "handouts" / f"{name}.pdf"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("book", "handouts"))
    parser.add_argument("--chapter")
    parser.add_argument("--edition", choices=EDITIONS)
    parser.add_argument("--paper", choices=("a4", "letter"), default="a4")
    options = parser.parse_args()
    require_latex()
    try:
        if options.what == "book":
            make_book(options.paper)
        else:
            make_handouts(options.chapter, [options.edition] if options.edition else EDITIONS, options.paper)
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
