"""What the book adds to Sphinx: row headings in computed tables, and an alt text for every picture."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from docutils import nodes
from sphinx.domains.std import StandardDomain
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx_exercise.nodes import exercise_node, solution_node

from pages import address

log = logging.getLogger(__name__)


class RowHeadings(SphinxTransform):
    """The first column of a computed table names its rows."""

    default_priority = 400

    def apply(self):
        for table in self.document.findall(nodes.table):
            if "computed" in table["classes"]:
                next(table.findall(nodes.colspec))["stub"] = 1


def require_alt_text(app, doctree):
    """Warn, and so fail the build, for a picture whose alt text is missing or is only its file's name."""
    for image in doctree.findall(nodes.image):
        alt = image.get("alt", "").strip()
        if not alt or re.search(r"[0-9a-f]{32}|_build/", alt):
            log.warning("picture without alt text (set `mystnb: image: alt:` in the cell, or `:alt:`)",
                        location=image if image.line else image.parent, type="book", subtype="alt")


def name_prompts(app, doctree, docname):
    """A prompt is headed by its own words, and its folded answer says what opening it does."""
    for exercise in doctree.findall(exercise_node):
        if "predict" in exercise["classes"]:
            title = next(exercise.findall(nodes.title))
            words = re.sub(r"^Exercise\s*\((.*)\)$", r"\1", title.astext(), flags=re.S)
            title.children = [nodes.Text(words)]
    prompts = {label for node in doctree.findall(exercise_node) if "predict" in node["classes"] for label in node["ids"]}
    for solution in doctree.findall(solution_node):
        if solution.get("target_label") in prompts:
            next(solution.findall(nodes.title)).children = [nodes.Text("Answer")]


def headings_of(body: str) -> str:
    """Table headings that say whether they head a row or a column; an empty corner heads neither."""
    body = re.sub(r'<th class="(head[^"]*)">((?:\s|<p>|</p>)*)</th>', r'<td class="\1"></td>', body)
    body = re.sub(r'<th class="(?=head)', '<th scope="col" class="', body)
    return re.sub(r'<th class="(?=stub)', '<th scope="row" class="', body)


def tidy_page(app, pagename, templatename, context, doctree):
    """Take out what would run cells on another host, and say in the page's marks what its parts are."""
    context["script_files"] = [script for script in context["script_files"]
                               if "thebe" not in f"{script.filename}{script.attributes}".lower()]
    context["css_files"] = [sheet for sheet in context["css_files"] if "thebe" not in f"{sheet.filename}"]
    if "body" in context:
        body = re.sub(r'id="(exercise|solution)-content"', r'class="\1-content"', context["body"])  # ids that exercises repeat
        body = re.sub(r'(<a class="reference internal" href="[^"]*">) +', r" \1", body)  # the space before a link is no part of it
        body = re.sub(r"<caption>(.*?)</caption>", r'<caption><div class="caption-box">\1</div></caption>', body, flags=re.S)
        # a line may not end between a formula and the point after it, nor within "n-th"
        body = re.sub(r'(<span class="math [^>]*>(?:(?!</span>).)*</span>)((?:-\w+)?[.,;:!?)\u2019]+|-\w+)', r'<span class="unbroken">\1\2</span>', body, flags=re.S)
        context["body"] = headings_of(body).replace('role="doc-biblioentry"', 'role="listitem"')


def name_the_address(app, config):
    """Where the book is published, pages name their address, and the page for lost readers finds its files."""
    config.html_baseurl = address(Path(app.confdir))
    config.notfound_urls_prefix = urlsplit(config.html_baseurl).path


def always_start(app, env, added, changed, removed):
    """The start page is written in every build: with no page to write, Sphinx would not copy changed static files."""
    return [app.config.root_doc]


class ReadOnce:
    """Sphinx's environment, with the pages' trees kept in memory."""

    def __init__(self, env):
        self.env, self.get_doctree = env, cache(env.get_doctree)

    def __getattr__(self, name):
        return getattr(self.env, name)


class Standard(StandardDomain):
    """Sphinx's own references; but a reference by number reads the page that it leads to once a build, not once each."""

    def _resolve_numref_xref(self, env, *more):
        self.trees = getattr(self, "trees", None) or ReadOnce(env)
        return super()._resolve_numref_xref(self.trees, *more)


def setup(app):
    app.add_domain(Standard, override=True)
    app.setup_extension("sphinx_exercise")
    app.setup_extension("sphinx_paper")
    app.setup_extension("mathematics")
    app.add_transform(RowHeadings)
    app.connect("config-inited", name_the_address)
    app.connect("env-get-outdated", always_start)
    app.connect("doctree-read", require_alt_text)
    app.connect("doctree-resolved", name_prompts, priority=900)
    app.connect("html-page-context", tidy_page, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
