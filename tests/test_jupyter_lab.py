"""A reader's visit: JupyterLab in Chromium, a double click on each chapter, run all cells, edit an input, save."""

import difflib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import ROOT
from lab import command, install
from pages import Page, pages
from test_browser import browser  # noqa: F401  a fixture

pytestmark = pytest.mark.browser
RUN = [page for page in pages(ROOT) if page.notebook]
TOKEN = "for-the-tests"
DIRECTIVE = re.compile(r"\{[a-z][\w:-]*\}`|\{\.[\w-]+\}|^\s*:{3,}|`{3}\{|\{(?:numref|ref|eq|doc|cite:\w+)\}", re.M)
PAGE = "chapters/positioned_tokens"
EDITED = 'example = PROVERB.with_tokens("a single step begins a journey")'


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A copy of the pages, for saving without touching the book."""
    root = tmp_path_factory.mktemp("reader") / "book"
    for page in pages(ROOT):
        target = root / f"{page.name}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page.path, target)
    return root


@pytest.fixture(scope="module")
def address(book):
    """JupyterLab as `make lab` starts it, with a home of its own."""
    if not (ROOT / "_build" / "labels.json").is_file():
        pytest.fail("wanted the numbers of the built book in _build/labels.json, found none; run `make book` first")
    install()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = book.parent / "home"
    environment = os.environ | {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    more = ["--no-browser", f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={book}",
             "--LabApp.expose_app_in_browser=True"]  # so that a test can wait for what JupyterLab itself waits for
    more += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with (book.parent / "lab.log").open("w") as log:
        server = subprocess.Popen(command(*more), env=environment, stdout=log, stderr=log, cwd=book)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api?token={TOKEN}", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, (book.parent / "lab.log").read_text()
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


class Reader:
    """One tab of JupyterLab in one folder, and what a reader does in it."""

    def __init__(self, context, address: str, folder: str):
        self.context, self.tab, self.troubles, self.last = context, context.new_page(), [], ""
        self.tab.set_default_timeout(60_000)
        self.tab.on("pageerror", self.error)
        local = (address, address.replace("http", "ws"), "data:", "blob:")
        self.tab.on("request", lambda request: None if request.url.startswith(local)
                    else self.troubles.append(f"another host: {request.url}"))
        self.tab.goto(f"{address}/lab/tree/{folder}?token={TOKEN}&reset")

    def error(self, error):
        """A script's error is a trouble, but for JupyterLab's own: it looks for its renderer in cells that have ours."""
        if "_markdownOverlapsToolbar" not in (error.stack or ""):
            self.troubles.append(error.stack or str(error))

    def open(self, name: str):
        self.troubles.clear()
        if name == self.last:  # or it would find the kernel that is about to stop
            self.tab.evaluate("window.stopping")
        self.last = name
        self.tab.locator(".jp-DirListing-item", has_text=re.compile(rf"^{name.rpartition('/')[2]}\.md")).dblclick()
        self.tab.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell")
        self.tab.wait_for_selector(".jp-MarkdownCell .myst *")
        self.tab.evaluate("jupyterapp.shell.currentWidget.sessionContext.ready")
        assert not self.tab.locator(".jp-FileEditor").count(), "a chapter opens as a notebook, not as text"

    def does(self, command: str):
        """Do what an entry of a menu does, and wait until JupyterLab says that it is done."""
        return self.tab.evaluate("command => jupyterapp.commands.execute(command)", command)

    def close(self):
        """Close the notebook without saving it; its kernel may take its time to stop."""
        self.tab.evaluate("""() => {
            const panel = jupyterapp.shell.currentWidget;
            window.stopping = jupyterapp.serviceManager.sessions.shutdown(panel.sessionContext.session.id).then(() => true);
            panel.context.model.dirty = false;
            panel.close();
        }""")
        self.tab.wait_for_selector(".jp-NotebookPanel", state="detached")

    def run_all(self) -> float:
        """Run every cell and scroll to the end; the seconds until the last cell was run, or one failed."""
        start = time.perf_counter()
        self.does("notebook:run-all-cells")
        seconds = time.perf_counter() - start
        self.settle()
        return seconds

    def settle(self):
        """Look at each cell until it is drawn, which JupyterLab does where one looks, then wait until nothing changes."""
        missing = self.tab.evaluate("""async () => {
            const notebook = jupyterapp.shell.currentWidget.content;
            const wait = time => new Promise(done => setTimeout(done, time));
            const drawn = cell => !cell.isPlaceholder() && (cell.model.type !== 'markdown' || cell.node.querySelector('.myst > *'));
            for (const [i, cell] of notebook.widgets.entries()) {
                for (let n = 0; n < 200 && !drawn(cell); n++) { notebook.scrollToItem(i).catch(() => {}); await wait(50); }
            }
            let last = performance.now();
            const observer = new MutationObserver(() => { last = performance.now(); });
            observer.observe(notebook.node, { childList: true, subtree: true, characterData: true });
            for (let i = 0; i < 300 && performance.now() - last < 400; i++) await wait(50);
            observer.disconnect();
            return notebook.widgets.filter(cell => !drawn(cell)).map(cell => cell.model.sharedModel.getSource());
        }""")
        assert not missing, f"wanted every cell to be drawn, still missing {missing}"

    def errors(self) -> list[str]:
        return self.text(ERROR)

    def save(self):
        self.does("docmanager:save")

    def type(self, cell: str, text: str):
        """Replace what stands in the first cell that contains `cell`."""
        self.tab.locator(".jp-CodeCell .cm-content", has_text=cell).first.click()
        self.tab.keyboard.press("ControlOrMeta+a")
        self.tab.keyboard.insert_text(text)

    def text(self, selector: str) -> list[str]:
        return self.tab.eval_on_selector_all(f".jp-NotebookPanel :is({selector})", "nodes => nodes.map(node => node.textContent)")


ERROR = "[data-mime-type='application/vnd.jupyter.error'], [data-mime-type='application/vnd.jupyter.stderr']"


@pytest.fixture(scope="module")
def tabs(browser, address):  # noqa: F811
    """A tab for each folder, opened when it is first needed."""
    opened = {}

    def tab(folder: str) -> Reader:
        if folder not in opened:
            opened[folder] = Reader(browser.new_context(viewport={"width": 1280, "height": 900}), address, folder)
        return opened[folder]

    tab.opened = opened
    yield tab
    for reader in opened.values():
        reader.context.close()


@pytest.fixture
def visit(tabs, request):
    """Open a chapter by double click; its notebook is closed afterwards, and after a failure the whole tab."""
    seen = []

    def opened(name: str) -> Reader:
        folder = name.rpartition("/")[0]
        seen.append(folder)
        reader = tabs(folder)
        reader.open(name)
        return reader

    failed = request.session.testsfailed
    yield opened
    for folder in seen:
        if request.session.testsfailed == failed:
            tabs(folder).close()
        else:
            tabs.opened.pop(folder).context.close()


def known_labels(page: str) -> dict:
    labels = json.loads((ROOT / "_build" / "labels.json").read_text(encoding="utf-8"))
    return {label: entry["text"] for label, entry in labels.items() if entry.get("page") == page}


@pytest.mark.parametrize("page", [page.name for page in RUN])
def test_chapter_opens_runs_reads_well_and_is_saved_as_it_was(visit, book, page):
    reader = visit(page)
    print(f"{page}: run all in {reader.run_all():.1f} s")
    assert not reader.errors()
    shown = reader.text(".myst, .jp-RenderedHTMLCommon, .book-caption")
    assert len(shown) > 3 and not [text for text in shown if DIRECTIVE.search(text) or "Unknown Directive" in text]
    assert not reader.text("[title*='Not Found']:not([data-book-reference])"), "references that were not found"
    assert not [text for text in reader.text("[data-book-reference]") if re.search(r"[“_]|\w-\w+-", text)], "references shown by label"
    for label, number in known_labels(page).items():
        if label.startswith(("tab-", "fig-")):
            said = reader.text(f"[id='{label}'].book-caption, [id='{label}'] > caption, [id='{label}'] > figcaption")
            assert said and said[0].strip().startswith(f"{number}."), f"{label}: wanted {number}, got {said}"
    pictures = reader.tab.eval_on_selector_all(".jp-RenderedSVG img", "nodes => nodes.map(node => [node.naturalWidth, node.alt.length])")
    assert all(width > 50 and alt > 20 for width, alt in pictures), pictures
    listed = re.findall(r"\{contents\} *(.+)", Page(ROOT, page).text)
    assert not set(listed) & set(reader.text(":is(h1, h2, h3):not([data-book-end]) .heading-text")), "a heading of a list that is not there"
    folded = reader.tab.eval_on_selector_all(".jp-InputPlaceholder", "nodes => nodes.map(node => node.scrollWidth - node.clientWidth)")
    assert not any(folded), "the line of a folded cell ends within its box"
    trains = "progress(" in Page(ROOT, page).text
    assert bool(reader.tab.locator(".jp-OutputArea progress").count()) == trains, "a cell that trains shows a bar"
    reader.save()
    assert (book / f"{page}.md").read_bytes() == Page(ROOT, page).path.read_bytes()
    assert not reader.troubles


def test_answers_are_folded_until_they_are_opened(visit):
    """A solution that goes on over several cells opens and closes as one."""
    reader = visit(PAGE)
    reader.settle()
    later = reader.tab.locator(".jp-MarkdownCell p", has_text="In general two different embeddings could be chosen")
    code = reader.tab.locator(".jp-CodeCell", has_text="def equal_pairs(rows)")
    solution = reader.tab.locator("details", has_text="Solution to Exercise").first.locator("summary")
    for state in ("hidden", "visible", "hidden"):
        later.wait_for(state=state)
        code.wait_for(state=state)
        solution.dispatch_event("click")  # the pointer's own click may miss what JupyterLab scrolls when it selects a cell
    headers = reader.tab.eval_on_selector_all(".myst-exercise-title", """nodes => nodes.map(node => {
        const copy = node.cloneNode(true);
        copy.querySelectorAll('[data-book-end]').forEach(part => part.remove());
        return copy.textContent.trim();
    })""")
    assert headers[:2] == ["Pause and predict: the row of position zero", "Answer"]
    assert not [text for text in headers if "Start of" in text or text.startswith("Exercise (")]


def test_editing_an_input_changes_the_numbers_and_saving_changes_its_line_only(visit, book):
    path = book / f"{PAGE}.md"
    before = path.read_text(encoding="utf-8")
    reader = visit(PAGE)
    reader.run_all()
    (first,) = reader.text("#tab-token-ids")
    reader.type("example = PROVERB", f"from helpers import PROVERB\n\n{EDITED}")
    reader.run_all()
    assert not reader.errors()
    (second,) = reader.text("#tab-token-ids")
    assert "thousand" in first and "thousand" not in second and "single" in second
    reader.save()
    after = path.read_text(encoding="utf-8")
    path.write_text(before, encoding="utf-8")
    print(*difflib.unified_diff(before.splitlines(), after.splitlines(), path.name, path.name, lineterm="", n=1), sep="\n")
    assert len(before.splitlines()) == len(after.splitlines())
    assert [(a, b) for a, b in zip(before.splitlines(), after.splitlines()) if a != b] == [
        ('example = PROVERB  # try PROVERB.with_tokens("a single step begins a journey")', EDITED)]


def test_a_wrong_input_is_answered_with_what_was_wanted(visit):
    reader = visit(PAGE)
    reader.type("example = PROVERB", 'from helpers import PROVERB\n\nexample = PROVERB.with_tokens("a short walk")')
    reader.run_all()
    said = "".join(reader.errors())
    assert "tokens: wanted words of the vocabulary (a, journey, of" in said and "got 'short' at position 1" in said
