"""What the book adds to Sphinx: row headings in computed tables, and an alt text for every picture."""

import re

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

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


def drop_live_code(app, config):
    """Take out the extension that would run cells on another host: this site asks nothing of anyone."""
    if "sphinx_thebe" in config.extensions:
        config.extensions.remove("sphinx_thebe")


def setup(app):
    app.add_transform(RowHeadings)
    app.connect("doctree-read", require_alt_text)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
