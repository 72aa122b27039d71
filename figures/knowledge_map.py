"""Ideas in reading order, one a line, with an arc from each idea down to those that build on it."""

from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib.figure import Figure

from helpers.drawing import STYLE, Drawing

from .kit import FAINT, INK, ROLES

IDEAS = Path(__file__).resolve().parents[1] / "book" / "knowledge_map.yml"
LINE, HEADING, NARROW = 0.215, 1.35, 0.27  # inches of a line; lines that a heading takes; inches of the shortest arc
ARCS, TEXT = 1.0, 3.35                     # inches for the arcs and for the words
COLOURS = [ROLES[role][0] for role in ("rows", "queries", "keys", "values")]  # they alternate, to tell arcs apart


def needs_of(parts) -> nx.DiGraph:
    """The map as a graph with an edge from what is needed to what needs it.

    parts: what book/knowledge_map.yml holds.  A node knows its part, chapter, section, idea and sentence.
    """
    graph = nx.DiGraph()
    for part in parts:
        for chapter in part["chapters"]:
            for idea in chapter["ideas"]:
                graph.add_node(idea["id"], part=part["part"], file=chapter["file"], title=chapter["title"], **idea)
                graph.add_edges_from((need, idea["id"]) for need in idea["needs"])
    return graph


def chapters_of(graph) -> nx.DiGraph:
    """The same for chapters: an edge where an idea needs one of an earlier chapter, unless a longer way says it."""
    chapters = nx.DiGraph()
    for _, idea in graph.nodes(data=True):
        chapters.add_node(idea["file"], idea=idea["title"], title=idea["part"])
    chapters.add_edges_from({(graph.nodes[a]["file"], graph.nodes[b]["file"]) for a, b in graph.edges} -
                            {(name, name) for name in chapters})
    reduced = nx.transitive_reduction(chapters)
    reduced.add_nodes_from(chapters.nodes(data=True))
    return reduced


def _places(graph, names):
    """Height of each name, and (height, words) of each heading, in lines from the top."""
    heights, headings, y, last = {}, [], 0.0, None
    for name in names:
        heading = graph.nodes[name]["title"]
        if heading != last:
            y += HEADING * bool(headings)
            headings.append((y, heading))
            y, last = y + 1.1, heading
        heights[name], y = y, y + 1
    return heights, headings, y


def _fitting(words: str, letter: float = 0.55) -> float:
    """The size in points, at most 10.5, at which the words fit; `letter` is the mean width of one, in sizes."""
    return min(10.5, 72 * (TEXT - 0.2) / (letter * len(words)))


def _arc(axes, top, bottom, colour, longest):
    """Half an ellipse to the left of the dots, with a head where it arrives."""
    reach = NARROW + (ARCS - NARROW) * (max(bottom - top - 1, 0) / max(longest - 1, 1)) ** 0.6
    angle = np.linspace(np.pi / 2, 3 * np.pi / 2, 60)
    xs, ys = reach * np.cos(angle) - 0.07, (top + bottom) / 2 - (bottom - top) / 2 * np.sin(angle)
    axes.plot(xs, ys, color=colour, linewidth=1.1)
    axes.annotate("", xy=(-0.05, bottom), xytext=(xs[-4], ys[-4]), arrowprops={
        "arrowstyle": "-|>", "color": colour, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8})


def draw(graph, names) -> Drawing:
    """The named nodes in their order, under their headings, with the arcs between them.

    An open dot marks a node that also needs one which is not drawn.
    Raises ValueError for a name that the graph does not hold, or an edge that points upwards.
    """
    names, order = list(names), {name: k for k, name in enumerate(graph)}
    if unknown := [name for name in names if name not in graph]:
        raise ValueError(f"names: wanted ideas of the map, got {', '.join(unknown)}")
    edges = [(a, b) for a, b in graph.edges if {a, b} <= set(names)]
    if upwards := [f"{b} needs {a}" for a, b in graph.edges if order[a] > order[b]]:
        raise ValueError(f"graph: wanted needs that stand further up, got {', '.join(upwards)}")
    heights, headings, lines = _places(graph, names)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(ARCS + TEXT, LINE * lines))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-ARCS - 0.1, TEXT - 0.1), ylim=(lines - 0.4, -0.6))
        axes.axis("off")
        size = min(_fitting(graph.nodes[name]["idea"]) for name in names)
        longest = max((heights[b] - heights[a] for a, b in edges), default=1)
        for a, b in edges:
            _arc(axes, heights[a], heights[b], COLOURS[order[a] % len(COLOURS)], longest)
        for y, words in headings:
            axes.text(0, y, words, fontsize=min(9, _fitting(words, letter=0.61)), color=FAINT, va="center", fontweight="bold")
        for name, y in heights.items():
            elsewhere = any(need not in heights for need in graph.predecessors(name))
            axes.plot(0, y, "o", color=INK, markersize=4.5, markerfacecolor="white" if elsewhere else INK)
            axes.text(0.12, y, graph.nodes[name]["idea"], fontsize=size, color=INK, va="center")
    says = [f"{graph.nodes[b]['idea']} needs {graph.nodes[a]['idea']}" for a, b in edges]
    return Drawing(figure, "\n".join(says))
