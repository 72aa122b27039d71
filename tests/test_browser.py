"""Every page in Chromium, at desk and phone width, in light and dark: what a reader would trip over."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import ROOT, SITE
from pages import pages

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which(
    "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        if os.environ.get("CI"):
            pytest.fail("wanted Chromium for the browser tests, found none; install it or set CHROMIUM to its path")
        pytest.skip("no Chromium found; install it or set CHROMIUM to its path")
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address():
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", [page.name for page in pages(ROOT)])
def test_page_opens_cleanly(browser, address, page, scheme, width):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab, troubles = context.new_page(), []
    tab.on("pageerror", lambda error: troubles.append(f"script error: {error}"))
    tab.on("console", lambda message: troubles.append(f"console: {message.text}") if message.type == "error" else None)
    tab.on("requestfailed", lambda request: troubles.append(f"failed: {request.url}"))
    tab.on("response", lambda response: troubles.append(f"{response.status}: {response.url}") if response.status >= 400 else None)
    tab.on("request", lambda request: None if request.url.startswith((address, "data:")) else troubles.append(
        f"another host: {request.url}"))
    tab.goto(f"{address}/{page}.html", wait_until="load")
    tab.wait_for_function("!window.MathJax || (MathJax.startup && MathJax.startup.promise)")
    tab.evaluate("window.MathJax ? MathJax.startup.promise.then(() => true) : true")
    errors = tab.eval_on_selector_all("mjx-merror, [data-mjx-error]", "nodes => nodes.map(n => n.textContent)")
    unset = tab.eval_on_selector_all("main .math", r"nodes => nodes.map(n => n.textContent).filter(t => /\\[([]/.test(t))")
    sideways = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    theme = tab.evaluate("document.documentElement.dataset.theme")
    context.close()
    assert not troubles
    assert not errors and not unset, (errors, unset)
    assert sideways <= 0, f"the page scrolls {sideways} pixels sideways"
    assert theme == scheme
