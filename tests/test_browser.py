"""Every page in Chromium, at desk and phone width, in light and dark: what a reader would trip over."""

import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import ROOT, SITE, html
from pages import pages

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which(
    "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


NAMES = [page.name for page in pages(ROOT)]
CHAPTER = "chapters/one_head"
SCROLLERS = "main .formula, main span.math.wide, main .pst-scrollable-table-container, main figure, main pre, main .cell_output > .output"
FORMULAS = "nodes => nodes.map(n => [n.checkVisibility() ? n.getBoundingClientRect().width : NaN, n.outerHTML])"


def serious(violations) -> list[str]:
    """What axe calls serious or critical, with the first element of each."""
    return [f"{v['impact']}: {v['id']}, {len(v['nodes'])} times, first {v['nodes'][0]['html'][:200]}: {v['nodes'][0]['failureSummary']}"
            for v in violations if v["impact"] in ("serious", "critical")]


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


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
@pytest.mark.parametrize("page", NAMES)
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
    fonts = tab.evaluate("document.fonts.ready.then(() => [...document.fonts].filter(f => f.status == 'loaded').map(f => f.family))")
    formulas = tab.eval_on_selector_all("main math", FORMULAS)
    sideways = tab.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    theme = tab.evaluate("document.documentElement.dataset.theme")
    unreached = tab.eval_on_selector_all(SCROLLERS, """nodes => nodes.filter(n => n.scrollWidth > n.clientWidth + 1 && n.tabIndex < 0
        && getComputedStyle(n).overflowX !== "visible").map(n => n.textContent.slice(0, 60))""")
    cut = tab.eval_on_selector_all("main .eqno, main caption .caption-box, main figcaption", """nodes => nodes
        .filter(n => n.getBoundingClientRect().width && n.getBoundingClientRect().right > innerWidth).map(n => n.textContent.slice(0, 60))""")
    cookies = context.cookies()
    context.close()
    assert not troubles
    assert not [source for room, source in formulas if room < 1], "a formula takes no room"
    assert not formulas or any("STIX Two Math" in family for family in fonts), fonts
    assert sideways <= 0, f"the page scrolls {sideways} pixels sideways"
    assert not unreached, "what scrolls sideways cannot be reached with the keyboard"
    assert not cut, "a caption or an equation number sticks out of the window"
    assert theme == scheme
    assert not cookies
    assert len(formulas) == len(html(page).find_all(class_="math"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", [*NAMES, "index", "search", "404"])
def test_axe_finds_nothing_serious(browser, address, page, scheme):
    """Accessibility rules on the whole page; the browser itself draws what stands inside formulas.

    The two schemes differ in colours alone, so the dark one is only asked about colours.
    """
    options = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme, reduced_motion="reduce")
    tab = context.new_page()
    tab.goto(f"{address}/{page}.html", wait_until="load")
    tab.wait_for_url(lambda url: not url.endswith("/index.html") or url.endswith("/book/index.html"))
    found = Axe().run(tab, context={"exclude": [["math"]]}, options=options).response["violations"]
    context.close()
    assert not serious(found)


def test_a_chapter_works_with_the_keyboard_alone(browser, address):
    """Skip link, search, folded code and folded answers, without a pointer."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    tab.goto(f"{address}/{NAMES[-3]}.html", wait_until="load")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent").strip() == "Skip to main content"
    tab.keyboard.press("Enter")
    assert tab.url.endswith("#main-content")
    tab.keyboard.press("Control+k")
    assert tab.evaluate("document.activeElement.name") == "q"
    tab.keyboard.press("Escape")
    tab.goto(f"{address}/{CHAPTER}.html", wait_until="load")
    folds = tab.locator("main details.hide > summary, main .toggle-button")
    assert folds.count() > 10
    for fold in (tab.locator("main details.hide > summary").first, tab.locator("main details.admonition > summary, main .toggle-button").last):
        before = tab.evaluate("document.documentElement.scrollHeight")
        fold.focus()
        assert tab.evaluate("document.activeElement !== document.body"), "a fold cannot be reached"
        tab.keyboard.press("Enter")
        tab.wait_for_function(f"document.documentElement.scrollHeight > {before}")
    moving = tab.evaluate("""[...document.querySelectorAll("*")].filter(n => getComputedStyle(n).transitionDuration
        .split(", ").some(d => parseFloat(d) > 0.01)).length""")
    tab.close()
    assert moving == 0, "something moves although the reader asked for no motion"


def test_paper_is_white_and_has_every_picture_whatever_the_screen(browser, address):
    tab = browser.new_page(color_scheme="dark")
    tab.goto(f"{address}/{CHAPTER}.html", wait_until="load")
    tab.evaluate("addEventListener('beforeprint', () => window.onPaper = document.documentElement.dataset.theme)")
    tab.pdf()
    themes = tab.evaluate("[window.onPaper, document.documentElement.dataset.theme]")
    loaded = tab.eval_on_selector_all("main img", "nodes => nodes.map(n => n.complete && n.naturalWidth > 0)")
    tab.close()
    assert themes == ["light", "dark"]
    assert loaded and all(loaded)


@pytest.fixture
def offline(browser):
    """A window without any network; what it asks for besides files is kept in `asked`."""
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    tab, tab.asked, tab.troubles = context.new_page(), [], []
    tab.on("request", lambda request: None if request.url.startswith(("file:", "data:")) else tab.asked.append(request.url))
    tab.on("requestfailed", lambda request: tab.troubles.append(f"failed: {request.url}"))
    tab.on("pageerror", lambda error: tab.troubles.append(f"script error: {error}"))
    tab.on("console", lambda message: tab.troubles.append(message.text) if message.type == "error" else None)
    yield tab
    context.close()


@pytest.mark.parametrize("page", NAMES)
def test_page_opens_from_a_folder_without_network(offline, page):
    offline.goto((SITE / f"{page}.html").as_uri(), wait_until="load")
    fonts = offline.evaluate("document.fonts.ready.then(() => [...document.fonts].filter(f => f.status == 'loaded').length)")
    offline.eval_on_selector_all("main img", "nodes => nodes.forEach(n => n.loading = 'eager')")
    offline.wait_for_function("[...document.querySelectorAll('main img')].every(n => n.complete && n.naturalWidth > 0)")
    assert not offline.asked and not offline.troubles
    assert fonts >= 2


def test_search_works_from_a_folder_without_network(offline):
    offline.goto((SITE / "search.html").as_uri() + "?q=softmax", wait_until="load")
    offline.wait_for_selector("#search-results li a")
    offline.wait_for_function("/found|matching/.test(document.querySelector('#search-results').textContent)")
    assert offline.locator("#search-results li").count() >= 3
    offline.locator("#search-results li a").first.click()
    offline.wait_for_load_state()
    assert offline.locator("article h1").first.is_visible() and "softmax" in offline.content()
    assert not offline.asked and not offline.troubles


def test_the_folder_s_start_page_leads_to_the_book(offline):
    offline.goto((SITE / "index.html").as_uri(), wait_until="load")
    offline.wait_for_url(f"**/{NAMES[0]}.html")
    assert not offline.asked
