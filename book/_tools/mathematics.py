"""Mathematics set when the book is built: TeX becomes MathML, which browsers draw without a script.

The TeX stays in each formula as an annotation, for copying and for reading by programs.
"""

import re

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

log = logging.getLogger(__name__)

convert = LatexToMathML(annotation=True, allow_unreliable_rendering=True, fancy_error=False).convert_with_local_state
PIECE = re.compile(r"\\(begin|end)\{(\w+)\*?\}|\\\\(?:\[[^\]]*\])?")
FIRST, LATER = ('<mtd style="text-align: right;justify-items: end;padding-right: 0;">',
                '<mtd style="text-align: left;justify-items: start;padding-left: 0;">')
BETTER = (  # what the browsers draw better than the converter's own choice
    ("(<mover (?:(?!</mover>).)*)\u0332</mo></mover>", "\\1\u203e</mo></mover>"),  # a bar, not one that hangs to the left
    ('<menclose notation="box">', '<mrow class="boxed">'), ("</menclose>", "</mrow>"),  # Chromium draws no menclose
    (rf"<mtable([^>]*)>(?=<mtr>{FIRST})", r'<mtable class="lines"\1>'),
    (r"(<mo>[,;]</mo><mtext>\s*</mtext>)<mo>([+\u2212])</mo>", r'\1<mo lspace="0" rspace="0">\2</mo>'),  # a sign of a number
    ("<mrow></mrow>", "<mi></mi>"),  # an empty atom, beside which a sign has its spaces
    ('(<m(?:sup|subsup)>)(<mover accent="true"><mi>[^<]*</mi><mo[^>]*>[^<]*</mo></mover>)',
     r'\1<mpadded height="0.7em">\2</mpadded>'),  # an accent does not raise an exponent
    ("<mtr>(?=(?:(?!</mtr>).)*<(?:mfrac|mtable|munder|mover))", '<mtr class="tall">'),
    (rf"({LATER})<mo>([+\u2212])</mo>(?!</mtd>)", r'\1<mo form="infix">\2</mo>'),  # a line goes on: no sign of a number
    (r"(<m(?:sub|sup|subsup)>)(<mo [^>]*minsize[^>]*>[^<]*</mo>)", r"\1<mrow>\2</mrow>"),  # else it does not grow
)


def _plain(tex: str) -> str:
    """The TeX without what only paper needs: space after a line, and environments that number their lines."""
    lines = re.sub(r"\\\\\[[^\]]*\]", r"\\\\", tex)
    return re.sub(r"\\(begin|end)\{(?:split|align|eqnarray)\*?\}", r"\\\1{aligned}",
                  re.sub(r"\\(begin|end)\{(?:gather|multline)\*?\}", r"\\\1{gathered}",
                         re.sub(r"\\(?:begin|end)\{equation\*?\}", "", lines)))


def _has_lines(tex: str) -> bool:
    """Whether lines end outside every environment."""
    depth = 0
    for piece in PIECE.finditer(tex):
        if piece[1] is None and depth == 0:
            return True
        depth += {"begin": 1, "end": -1}.get(piece[1], 0)
    return False


def mathml(tex: str, display: bool = False) -> str:
    """One formula as MathML; raises ValueError that quotes a formula which cannot be set."""
    plain = _plain(tex.strip())
    if _has_lines(plain):
        plain = rf"\begin{{aligned}}{plain}\end{{aligned}}"
    try:
        made = convert(plain, displaystyle=display)
    except LatexError as error:
        raise ValueError(f"wanted TeX that MathML can say, got {tex.strip()!r}: {error}") from None
    for found, better in BETTER:
        made = re.sub(found, better, made)
    return made


def _made(node, display: bool) -> str:
    try:
        return mathml(node.astext(), display)
    except ValueError as error:
        log.warning(str(error), location=node if node.line else node.parent, type="book", subtype="math")
        return ""


def visit_inline(self, node):
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight") + _made(node, False) + "</span>")
    raise nodes.SkipNode


def visit_display(self, node):
    """The formula in a box that scrolls when it is too wide, its number beside it."""
    self.body.append(self.starttag(node, "div", "", CLASS="math notranslate nohighlight"))
    self.body.append(f'<div class="formula">{_made(node, True)}</div>')
    if node["number"] and not node["nowrap"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
