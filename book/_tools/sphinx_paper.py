"""How the book's pages become LaTeX: Sphinx's own writer, with three things made certain.

Numbers: captions, equations and references carry the numbers that Sphinx gave them on the website, written out.
LaTeX counts nothing that a reader sees, so web and paper cannot disagree, also when answers are left out.

Pages: each page, each answer and each bibliography entry stands between comment lines (`MARK`), so that `paper.py`
can put them together again: all of them as the book, one as a handout, with answers or without.

References: `\\bookref` knows which page it leads to, so that a handout can say "Table 6.3 in chapter 6".
"""

import json
import re

from docutils import nodes
from sphinx.builders.latex import LaTeXBuilder
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.latex import LaTeXTranslator
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_latex_number_reference, exercise_node, solution_node
from sphinx_jupyterbook_latex.nodes import CellInput, CellOutput, RootHeader

MARK = "%%% "  # a line that starts so belongs to paper.py
WIDE = 96  # characters of printed output that fit on a line
FITS = 105  # characters that fit on a line of a table
LONG = 26  # a table or a cell with more lines than this may break across pages
PART = 2  # lines of code that stay together


def mark(word: str, **more) -> str:
    return f"\n{MARK}{word} {json.dumps(more)}\n" if more else f"\n{MARK}{word}\n"


def dotted(number) -> str:
    return ".".join(map(str, number or ()))


def lines_to_write(text: str, least: int) -> int:
    """Room for a handwritten answer, from the length of the printed one."""
    return min(max(least, round(len(text) / 70)), 2 * least)


class PaperTranslator(LaTeXTranslator):
    """Sphinx's LaTeX writer, with the website's numbers written out."""

    # Where things stand and what they are called

    @property
    def page(self) -> str:
        return self.curfilestack[-1]

    def key(self, page: str, name: str) -> str:
        return re.sub(r"[^\w:/.-]", "", f"{page}:{name}")

    def anchor(self, names, head: bool = False) -> str:
        macro = r"\bookheadanchor" if head else r"\bookanchor"
        return "".join(f"{macro}{{{self.key(self.page, name)}}}" for name in names)

    def hypertarget(self, id, withdoc=True, anchor=True):
        return self.anchor([id])

    def hypertarget_to(self, node, anchor=False):
        if isinstance(node, nodes.figure):
            return ""  # stands at the top of the figure, see visit_figure
        return self.anchor(node["ids"], head=isinstance(node, nodes.section))

    def number_of(self, node) -> str:
        """The number that the website shows for a figure, a table, a listing or an exercise."""
        kind = self.builder.env.get_domain("std").get_enumerable_node_type(node)
        numbers = self.builder.env.toc_fignumbers.get(self.page, {}).get(kind, {})
        return dotted(next((numbers[name] for name in node["ids"] if name in numbers), ()))

    def equation_number(self, page: str, label: str) -> str:
        numbers = self.builder.env.toc_fignumbers.get(page, {}).get("displaymath", {})
        return dotted(numbers.get(nodes.make_id(f"equation-{label}")))

    def place(self, page: str) -> str:
        """Where a page stands, in words: "chapter 5", or the page's title."""
        chapter = next(iter(self.builder.env.toc_secnumbers.get(page, {}).values()), None)
        return f"chapter~{dotted(chapter[:1])}" if chapter else rf"\emph{{{self.escape(self.builder.env.titles[page].astext())}}}"

    def spot(self, page: str, name: str) -> str:
        """What a reader of paper looks for instead of following a link: "section 5.2", "Table 5.1", "chapter 5".

        "" for what has no number: the page has to be named.
        """
        env = self.builder.env
        for kind, numbers in env.toc_fignumbers.get(page, {}).items():
            if name in numbers and kind in self.config.numfig_format:
                number = dotted(numbers[name])
                return number if self.table else (self.config.numfig_format[kind] % number).replace(" ", "~")
        numbers = env.toc_secnumbers.get(page)
        number = numbers and numbers.get(f"#{self.section_ids.get((page, name))}")
        return f"section~{dotted(number)}" if number else self.place(page) if numbers else ""

    # Pages

    def visit_document(self, node):
        self.section_ids = {(section.get("docname"), name): section["ids"][0]
                            for section in node.findall(nodes.section) for name in section["ids"]}
        self.section_titles = {title.astext() for title in node.findall(nodes.title) if isinstance(title.parent, nodes.section)}
        self.answers = {answer.get("target_label"): answer.astext() for answer in node.findall(solution_node)}
        self.cited = {(c.bibliography_key.docname, c.citation_id) for c in self.builder.env.get_domain("cite").citations}
        self.body.append(self._page_mark(node["docname"]))
        super().visit_document(node)

    def depart_document(self, node):
        self.body.append(mark("end"))

    def visit_start_of_file(self, node):
        self.curfilestack.append(node["docname"])
        self.body.append(self._page_mark(node["docname"]))

    def _page_mark(self, page: str) -> str:
        env = self.builder.env
        chapter = next(iter(env.toc_secnumbers.get(page, {}).values()), ())
        return mark("page", name=page, number=dotted(chapter[:1]), title=env.titles[page].astext())

    def visit_thebibliography(self, node):
        for citation in node.findall(nodes.citation):
            key = self.key(citation["docname"], citation["ids"][0])
            self.body.append(mark("entry", key=key) + f"\\bookentry{{{key}}}{{")
            for child in citation.children[1:]:
                child.walkabout(self)
            self.body.append("}\n")
        self.body.append(mark("entries end"))
        raise nodes.SkipNode

    # References

    def visit_number_reference(self, node):
        page, name = self._target(node)
        self.body.append(self._ref(page, name, self.encode(node.astext()).replace(" ", "~")))
        raise nodes.SkipNode

    def visit_math_reference(self, node):
        page, label = node["docname"], node["target"]
        words = self.config.math_eqref_format.format(number=self.equation_number(page, label)).replace(" ", "~")
        self.body.append(self._ref(page, f"equation-{label}", words))
        raise nodes.SkipNode

    def _target(self, node) -> tuple[str, str]:
        if node.get("refid"):
            return self.page, node["refid"]
        page, _, name = node["refuri"].lstrip("%").partition("#")
        return page or self.page, name or ":doc"

    def _ref(self, page: str, name: str, words: str) -> str:
        return rf"\bookref{{{page}}}{{{self.key(page, name)}}}{{{words}}}{{{self.place(page)}}}"

    def visit_reference(self, node):
        uri = node.get("refuri", "")
        if self.in_title or not (node.get("refid") or uri.startswith(("%", "#"))):
            return super().visit_reference(node)
        page, name = self._target(node)
        if any("std-term" in child.get("classes", ()) for child in node.children if isinstance(child, nodes.Element)):
            self.body.append(rf"\bookterm{{{self.key(page, name)}}}{{")
            self.context.append("}")
            return
        if (page, name) in self.cited:
            self.body.append(rf"\bookcite{{{self.key(page, name)}}}{{")
            self.context.append("}")
        elif self._short(node):
            self.body.append(rf"\bookref{{{page}}}{{{self.key(page, name)}}}{{{self._short(node)}}}{{}}")
            raise nodes.SkipNode
        else:
            self.body.append(rf"\booklink{{{page}}}{{{self.key(page, name)}}}{{{self.spot(page, name)}}}{{")
            self.context.append("}")

    def visit_term(self, node):
        """A word of the glossary: the index entry that stands in it is its anchor."""
        self.in_term += 1
        self.body.append(r"\sphinxlineitem{")
        self.context.append("}")

    def visit_index(self, node):
        """A place that the index of the whole book points to; `sphinx_index.py` files it under word and page."""
        for kind, words, name, *_ in node["entries"]:
            if kind == "single":
                word = self.encode(words.partition(";")[0])
                self.body.append(rf"\bookindex{{{self.key(self.page, name)}}}{{{word}}}")
        raise nodes.SkipNode

    # Numbered things

    def visit_figure(self, node):
        floats = not (self.no_latex_floats or self.table)
        self.body.append("\n\\begin{figure}\n" if floats else "\n\\begin{bookfigurehere}\n")
        self.context.append("\n\\end{figure}\n" if floats else "\n\\end{bookfigurehere}\n")
        number = self.number_of(node)
        self.body.append((rf"\booknumber{{figure}}{{{number}}}" if number else "") + self.anchor(node["ids"]) + "%\n")

    def visit_math_block(self, node):
        tex = node.astext().strip()
        number = self.equation_number(node["docname"], node["label"]) if node.get("label") else ""
        if node.get("nowrap"):
            tex = rf"\begin{{gathered}}{tex}\end{{gathered}}" if not tex.startswith(r"\begin") else tex
            self.body.append(f"\n\\bookdisplaystart\n{tex}\n")
            raise nodes.SkipNode
        if r"\\" in tex and not re.search(r"\\begin\{(aligned|split|gathered|cases|[a-zA-Z]*matrix|array)\}", tex):
            tex = f"\\begin{{aligned}}\n{tex}\n\\end{{aligned}}"
        tag = rf"\tag{{{number}}}" if number else r"\notag"
        anchor = self.anchor([f"equation-{node['label']}"]) if node.get("label") else ""
        self.body.append(f"\n\\bookdisplaystart{anchor}\n\\begin{{equation}}{tag}\n{tex}\n\\end{{equation}}\n")
        raise nodes.SkipNode

    # Tables

    def depart_table(self, node):
        table, number = self.tables.pop(), self.number_of(node)
        rows = [[entry for entry in row.findall(nodes.entry)] for row in node.findall(nodes.row)]
        head = "".join(table.header).replace(r"\sphinxhline", "")
        body = "".join(table.body).replace(r"\sphinxhline", r"\bookrowend ")
        caption = "".join(table.caption)
        sides = "".join("r" if self._numeric(rows, j) else "l" for j in range(table.colcount))
        given = table.colwidths if "colwidths-given" in table.classes else None
        # widths were given for the titles of chapters, which paper shortens to their numbers
        titled = any(map(self._short, node.findall(nodes.reference)))
        shares = self._shares(rows, table.colcount) if titled or not given else given
        lines = sum(self._lines(row, shares) for row in rows)
        if given or lines > LONG and "l" in sides[1:]:
            total = sum(shares)
            columns = "".join(rf"K{{{share / total:.4f}}}{{{table.colcount}}}" for share in shares)
            environment = "booklongtable" if lines > LONG else "bookwidetable"
            self.body.append(f"\n\\begin{{{environment}}}{{{number}}}{{{self.anchor(node['ids'])}}}{{{caption}}}{{{columns}}}"
                             f"{{{table.colcount}}}{{{head}}}\n{body}\\end{{{environment}}}\n")
        else:
            self.body.append(f"\n\\booktable{{{number}}}{{{self.anchor(node['ids'])}}}{{{caption}}}{{{sides}}}"
                             f"{{{sides.replace('l', 'L')}}}{{%\n{head}\\midrule\n{body}}}\n")

    def visit_Text(self, node):
        text = self.encode(node.astext())
        if self.table and not isinstance(node.parent, nodes.literal):
            text = re.sub(r"(?<![\w.}])\\sphinxhyphen\{\}(?=\d)", "\N{MINUS SIGN}", text)
        self.body.append(text)

    @staticmethod
    def _numeric(rows, j: int) -> bool:
        cells = [row[j] for row in rows if j < len(row) and not isinstance(row[j].parent.parent, nodes.thead)]
        return bool(cells) and all("text-right" in cell["classes"] for cell in cells)

    def _width(self, cell) -> int:
        """About how many characters a cell is wide."""
        return sum(map(len, self._runs(cell)))

    def _widest(self, cell) -> int:
        """About how many characters the widest word or formula of a cell is wide."""
        return max((len(word) for run in self._runs(cell) for word in run.split()), default=0)

    def _runs(self, cell) -> list[str]:
        """The text of a cell, each formula as one word of about its width."""
        runs = []
        for text in cell.findall(nodes.Text):
            if isinstance(text.parent, nodes.math):
                plain = re.sub(r"\\(?:mathbf|mathrm|text|operatorname)|[{}^_]", "", text)
                plain = re.sub(r"\\(?:times|cdot|le|ge|to|in)\b|[=<>+]", "xxx", plain)  # with the space around them
                runs.append(re.sub(r"\\[a-zA-Z]+ ?|\\.", "x", plain).replace(" ", ""))
            else:
                runs.append(self._short(text.parent.parent) or text.astext())
        return runs

    def _short(self, node) -> str:
        """In a table a chapter's or section's number takes the place of its title: "Chapter 5"; "" for other references."""
        if not (self.table and isinstance(node, nodes.reference) and (node.get("refid") or node.get("refuri", "").startswith("%"))):
            return ""
        page, name = self._target(node)
        spot = self.spot(page, name).replace("section~", "Section~")
        if node.astext() == self.builder.env.titles[page].astext():
            place = self.place(page)
            return place[0].upper() + place[1:]
        return spot if spot.startswith("Section") and node.astext() in self.section_titles else ""

    def _shares(self, rows, columns: int) -> list[float]:
        """How to share the width of the page among columns of text: by the longest cells if they fit, else by the usual ones."""
        texts = [[self._width(row[j]) for row in rows if j < len(row)] for j in range(columns)]
        longest = [max(6, max(column)) for column in texts]
        if sum(longest) < FITS:
            return longest
        usual = [min(50, (most * sum(column) / len(column)) ** 0.5 + 4) for most, column in zip(longest, texts)]
        widest = [min(24, max(self._widest(row[j]) for row in rows if j < len(row))) for j in range(columns)]
        return [max(share, (word + 2) * sum(usual) / FITS) for share, word in zip(usual, widest)]

    def _lines(self, row, shares) -> int:
        return max(-(-self._width(cell) * sum(shares) // (FITS * share)) for cell, share in zip(row, shares)) or 1

    # Cells

    def visit_container(self, node):
        if "revision-sheet" in node["classes"]:
            self.body.append("\n\\begin{bookcompact}")

    def depart_container(self, node):
        if "revision-sheet" in node["classes"]:
            self.body.append("\\end{bookcompact}\n")

    def visit_literal_block(self, node):
        if node.rawsource != node.astext() or self.table or self.in_footnote:
            return super().visit_literal_block(node)
        output = "output" in node["classes"] or "output" in node.parent.get("classes", ())
        text = "\n".join(map(wrapped, node.rawsource.splitlines())) if output else re.sub(r"\n{3,}", "\n\n", node.rawsource)
        code = self.highlighter.highlight_block(text, node.get("language", "default"), location=node,
                                                force=node.get("force", False))
        parts = [code.strip()] if output else in_parts(code.strip(), text)
        longest = max(part.count("\n") for part in parts)
        name = "bookoutput" if output else "bookcode" if longest < LONG else "booklongcode"
        code = "\n\\bookcodenext\n".join(parts) if name == "bookcode" else code.strip()
        after = "" if self._speaks(node) else "\\bookbreak"
        self.body.append(f"\n\\begin{{{name}}}\n{code}\n\\end{{{name}}}{after}\n")
        raise nodes.SkipNode

    @staticmethod
    def _speaks(node) -> bool:
        """Whether a cell's code is followed by its output, which should stand on the same page."""
        while node and "cell" not in node.get("classes", ()):
            node = node.parent
        return bool(node) and any(isinstance(part, CellOutput) for part in node)

    # Boxes

    def visit_admonition(self, node):
        self.body.append("\n\\begin{booknote}")
        self.no_latex_floats += 1

    def depart_admonition(self, node):
        self.body.append("\\end{booknote}\n")
        self.no_latex_floats -= 1

    def _visit_named_admonition(self, node):
        self.body.append(f"\n\\begin{{booknote}}{{{node.tagname.title()}}}\n")
        self.no_latex_floats += 1

    def _depart_named_admonition(self, node):
        self.depart_admonition(node)


for kind in ("attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning"):
    setattr(PaperTranslator, f"visit_{kind}", PaperTranslator._visit_named_admonition)
    setattr(PaperTranslator, f"depart_{kind}", PaperTranslator._depart_named_admonition)


def wrapped(line: str) -> str:
    """A printed line that is too long for paper, broken at spaces."""
    out = []
    while len(line) > WIDE:
        cut = line.rfind(" ", 20, WIDE)
        cut = cut if cut > 0 else WIDE
        out.append(line[:cut])
        line = "    " + line[cut:].lstrip()
    return "\n".join([*out, line])


def in_parts(code: str, text: str) -> list[str]:
    """Typeset code, cut where a page may end: at an empty line before one that starts anew, parts of `PART` lines or more."""
    first, *lines, last = code.splitlines()
    plain = text.rstrip("\n").splitlines()
    if len(lines) != len(plain):
        raise ValueError(f"code: wanted {len(plain)} typeset lines, got {len(lines)}, in {plain[0]!r}")
    cuts = [0]
    for number in range(1, len(plain) - PART):
        if not plain[number].strip() and plain[number + 1][:1] not in " )]}" and number - cuts[-1] >= PART:
            cuts.append(number + 1)
    ends = [cut - 1 for cut in cuts[1:]] + [len(lines)]
    return ["\n".join([first, *lines[begin:end], last]) for begin, end in zip(cuts, ends)]


def visit_exercise(self, node):
    predict = "predict" in node["classes"]
    box = "bookpredict" if predict else "bookexercise"
    chapter = self.builder.env.toc_secnumbers.get(self.page)  # a page of questions has less room for each
    lines = lines_to_write(self.answers.get(node["label"], ""), 3 if predict or not chapter else 6)
    self.body.append(f"\n{self.anchor(node['ids'])}\\begin{{{box}}}{{{lines}}}")
    self.no_latex_floats += 1


def depart_exercise(self, node):
    self.body.append(f"\\end{{{'bookpredict' if 'predict' in node['classes'] else 'bookexercise'}}}\n")
    self.no_latex_floats -= 1


def visit_solution(self, node):
    self.body.append(mark("answer") + self.anchor(node["ids"]) + r"\begin{booksolution}")
    self.no_latex_floats += 1


def depart_solution(self, node):
    self.body.append("\\end{booksolution}" + mark("answer end"))
    self.no_latex_floats -= 1


def nothing(self, node):
    pass


def visit_root_header(self, node):
    self.body.append(r"\section{")


def depart_root_header(self, node):
    self.body.append("}\n")


class LeaveOutWebOnly(SphinxPostTransform):
    """Leave out what paper cannot use: the class `web-only` (a button, the list of pages), lists of a page's headings,
    and the cells that check an answer typed in place of None.  What a cell prints for an exercise stands in its box."""

    default_priority = 300

    def run(self):
        if not isinstance(self.app.builder, LaTeXBuilder):
            return
        for node in filter(is_exercise, list(self.document.findall(nodes.Element))):
            while (after := node.next_node(descend=False, siblings=True)) is not None and tells_numbers(after):
                after.parent.remove(after)
                node.append(after)
        for node in list(self.document.findall(nodes.Element)):
            if checks_an_answer(node) or {"web-only", "contents"} & set(node.get("classes", ())):
                for chapters in [c for c in node.findall(nodes.compound) if "toctree-wrapper" in c["classes"]]:
                    chapters.parent.remove(chapters)
                    self.document.append(chapters)  # the chapters hang on the list of pages
                node.parent.remove(node)


def is_exercise(node) -> bool:
    return isinstance(node, exercise_node | exercise_enumerable_node)


def checks_an_answer(node) -> bool:
    """A cell among exercises that compares what stands in place of None; the page that explains such cells keeps its own."""
    text = node.astext() if "cell" in node.get("classes", ()) else ""
    return bool(re.search(r"= None\b|\bcheck\(None\b", text) and re.search(r"\bcheck\(", text) and any(map(is_exercise, node.parent)))


def tells_numbers(node) -> bool:
    """A cell that only prints words or numbers."""
    return ("tag_hide-input" in node.get("classes", ()) and not list(node.findall(nodes.table)) and not list(node.findall(nodes.figure))
            and any("cell_output" in part["classes"] for part in node))


def write_for_paper(app):
    """Only on paper: with a translator set for any builder, the site's theme leaves its own tables out of the site."""
    if app.builder.format == "latex":
        app.set_translator("latex", PaperTranslator)


def setup(app):
    app.setup_extension("sphinx_exercise")
    app.setup_extension("sphinx_jupyterbook_latex")
    app.connect("builder-inited", write_for_paper)
    app.add_post_transform(LeaveOutWebOnly)
    for node, visitors in ((exercise_node, (visit_exercise, depart_exercise)),
                           (exercise_enumerable_node, (visit_exercise, depart_exercise)),
                           (solution_node, (visit_solution, depart_solution)),
                           (exercise_latex_number_reference, (PaperTranslator.visit_number_reference, nothing)),
                           (CellInput, (nothing, nothing)), (CellOutput, (nothing, nothing)),
                           (RootHeader, (visit_root_header, depart_root_header))):
        app.add_node(node, override=True, latex=visitors)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
