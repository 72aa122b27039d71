"""Run the cells of the pages whose outputs are not in the cache, a page more at a time than there are cores."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from pages import Page, cache

SHARED = ("helpers/**/*.py", "helpers/**/*.json", "figures/**/*.py", "experiments/**/*.py",
          "experiments/results/**/*", "book/knowledge_map.yml", "requirements.txt")


class ChapterFailed(Exception):
    """A cell raised; the message names the file, the line and the exception."""


def fingerprint(root: Path) -> str:
    """A hash of everything outside a page that its outputs depend on."""
    digest = hashlib.sha256(sys.version.encode())
    for pattern in SHARED:
        for path in sorted(p for p in root.glob(pattern) if p.is_file()):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def drop_stale(root: Path) -> bool:
    """Empty the cache when what all chapters share has changed since it was filled."""
    build = root / "_build"
    stamp, now = build / "shared-inputs", fingerprint(root)
    if stamp.is_file() and stamp.read_text() == now:
        return False
    known = stamp.is_file()
    for folder in (".jupyter_cache", ".doctrees", ".doctrees-paper"):
        shutil.rmtree(build / folder, ignore_errors=True)
    build.mkdir(exist_ok=True)
    stamp.write_text(now)
    return known


def joined(outputs: list) -> list:
    """Outputs with text that was printed in one go as one piece; where a kernel cuts it depends on the clock."""
    made = []
    for output in outputs:
        if made and output.output_type == made[-1].output_type == "stream" and output.name == made[-1].name:
            made[-1].text += output.text
        else:
            made.append(output)
    return made


def run(page: Page):
    """Execute one page in a fresh kernel in its own folder; return the notebook and the seconds it took."""
    notebook = nbformat.from_dict(page.notebook)
    reached = -1

    def entering(cell, cell_index):
        nonlocal reached
        reached = cell_index

    client = NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False, on_cell_start=entering,
                            resources={"metadata": {"path": str(page.path.parent)}})
    start = time.perf_counter()
    try:
        client.execute(stderr=subprocess.DEVNULL,  # a kernel's start-up notices; errors come as messages
                       env=os.environ | {"BOOK_BUILD": "1",  # cells that train show no progress bar
                                         "PYTHONHASHSEED": "0"})  # sets have one order, in every kernel
    except (CellExecutionError, TimeoutError) as error:
        where = f"{page.path.relative_to(page.root)}:{page.line_of(reached)}"
        trace = re.sub(r"\x1b\[[\d;]*m", "", str(error)).strip()
        raise ChapterFailed(f"{where}: {getattr(error, 'ename', 'Timeout')}: {getattr(error, 'evalue', '')}\n{trace}") from None
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = joined(cell.outputs)
    return notebook, time.perf_counter() - start


def keep(root: Path, page: Page, notebook, seconds: float):
    """Put an executed notebook in the cache."""
    cache(root).cache_notebook_bundle(CacheBundleIn(notebook, str(page.path), data={"execution_seconds": seconds}),
                                      check_validity=False, overwrite=True)


def reuse(root: Path, page: Page) -> bool:
    """Take over the outputs of the same code under other cell metadata: an edited caption runs nothing."""
    store = cache(root)
    code = store.create_hashed_notebook(page.notebook, cell_metadata=())[1]
    for record in store.list_cache_records():
        bundle = store.get_cache_bundle(record.pk)
        if store.create_hashed_notebook(bundle.nb, cell_metadata=())[1] == code:
            notebook = nbformat.from_dict(page.notebook)
            for cell, done in zip((c for c in notebook.cells if c.cell_type == "code"), bundle.nb.cells):
                cell.outputs, cell.execution_count = done.outputs, done.execution_count
            keep(root, page, notebook, record.data.get("execution_seconds", 0.0))
            return True
    return False


def execute(root: Path, pages: list[Page], workers: int = (os.cpu_count() or 1) + 1, say=print) -> list[str]:
    """Fill the cache; return the messages of the pages that failed.

    One page more than there are cores: while a kernel starts or stops, its core is another's.
    """
    if drop_stale(root):
        say("Shared code or data changed: every chapter is executed again")
    waiting = [page for page in pages if page.notebook and page.executed() is None and not reuse(root, page)]
    waiting.sort(key=lambda page: len(page.text), reverse=True)  # a long page begun last would leave one core idle
    if not waiting:
        say("Executing: nothing, every output is up to date")
        return []
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # kernels share the cores, and one thread repeats bit for bit
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    failures, done, lock = [], 0, threading.Lock()

    def work(page):
        nonlocal done
        try:
            notebook, seconds = run(page)
            verdict = f"{seconds:.1f} s"
        except ChapterFailed as error:
            notebook, verdict = None, "FAILED"
            failures.append(str(error))
        with lock:
            if notebook is not None:
                keep(root, page, notebook, seconds)
            done += 1
            say(f"Executing [{done}/{len(waiting)}] {page.name}: {verdict}")

    cache(root).db  # made once, before several threads would make it at the same time
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, waiting))
    return failures
