"""The index: under each word of the glossary, the chapters that use it, with a link to the first use."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from glossary_links import entries


class IndexTerms(SphinxTransform):
    """An index entry at every link to the glossary, filed under the entry's name and the page's title."""

    default_priority = 390

    def apply(self):
        links = [node for node in self.document.findall(addnodes.pending_xref) if node.get("reftype") == "term"]
        if not links:  # a book without a glossary has no such index
            return
        names = {word.lower(): words[0] for words in entries(Path(self.env.srcdir)) for word in words}
        title = next((node.astext() for node in self.document.findall(nodes.title)), "")
        for link in links:
            name = names.get(link["reftarget"].lower(), link["reftarget"])
            place = nodes.target("", "", ids=[f"index-{self.env.new_serialno('index')}"])
            link.parent.insert(link.parent.index(link), [
                addnodes.index(entries=[("single", f"{name}; {title}", place["ids"][0], "", None)]), place])


def setup(app):
    app.add_transform(IndexTerms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
