"""What a reader waits for: the bytes of a first visit and of each further page, and the time until its mathematics stands.

Serves the built site compressed, as web hosts do, and opens it in Chromium with the CPU slowed down four times.
Usage: measure_site.py [--slowdown 4]
"""

import argparse
import gzip
import os
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pages import pages  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
PACKED = (".html", ".css", ".js", ".svg")
TIMES = """async () => {
    await document.fonts.ready;
    const nodes = [...document.querySelectorAll("math")];
    nodes.forEach(node => node.getBoundingClientRect());
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    return [nodes.length, performance.now() / 1000, (paint ? paint.startTime : NaN) / 1000];
}"""


class Host(SimpleHTTPRequestHandler):
    """A web host that compresses texts and lets browsers keep files."""

    def do_GET(self):
        path = Path(self.translate_path(self.path))
        if path.suffix not in PACKED or not path.is_file():
            return super().do_GET()
        body = gzip.compress(path.read_bytes(), 6)
        self.send_response(200)
        for name, value in (("Content-Type", self.guess_type(str(path))), ("Content-Encoding", "gzip"),
                            ("Content-Length", str(len(body))), ("Cache-Control", "max-age=600")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def end_headers(self):
        if b"Cache-Control" not in b"".join(getattr(self, "_headers_buffer", [])):
            self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, *args):
        pass


def chromium() -> str:
    """The browser to measure with."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not found:
        sys.exit("wanted Chromium to measure with, found none; install it or set CHROMIUM to its path")
    return found


def visit(context, address: str, slowdown: float) -> dict:
    """Open a page, read it to its end, and say what was sent and when its mathematics stood."""
    tab, sent = context.new_page(), {"sent": 0, "plain": 0, "files": 0}
    session = context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    session.on("Network.loadingFinished", lambda event: sent.update(
        sent=sent["sent"] + event["encodedDataLength"], files=sent["files"] + (event["encodedDataLength"] > 0)))
    session.on("Network.dataReceived", lambda event: sent.update(
        plain=sent["plain"] + event["dataLength"] * (event.get("encodedDataLength", 1) > 0)))
    tab.goto(address, wait_until="load")
    formulas, ready, paint = tab.evaluate(TIMES)
    tab.eval_on_selector_all("main img", "nodes => nodes.forEach(node => node.loading = 'eager')")
    tab.wait_for_function("[...document.querySelectorAll('main img')].every(node => node.complete)")
    tab.wait_for_load_state("networkidle")
    tab.close()
    return sent | {"formulas": formulas, "ready": ready, "paint": paint}


def measure(names: list[str], slowdown: float) -> dict:
    """Page -> what a first visit to it and a visit after the start page cost."""
    from playwright.sync_api import sync_playwright

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Host, directory=SITE))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address, found = f"http://127.0.0.1:{server.server_port}", {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        warm = browser.new_context(viewport={"width": 1280, "height": 900})
        visit(warm, f"{address}/{names[0]}.html", 1)
        for name in names:
            cold = browser.new_context(viewport={"width": 1280, "height": 900})
            first = visit(cold, f"{address}/{name}.html", slowdown)
            cold.close()
            found[name] = {"first": first, "further": visit(warm, f"{address}/{name}.html", slowdown)}
        browser.close()
    server.shutdown()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slowdown", type=float, default=4)
    options = parser.parse_args()
    found = measure([page.name for page in pages(ROOT)], options.slowdown)
    print(f"kB sent (gzip), pictures to the end of the page included; seconds with the CPU {options.slowdown:g} times slower")
    print(f"{'page':<32}{'first visit':>12}{'further':>9}{'formulas':>10}{'first paint':>13}{'mathematics set':>17}")
    for name, cost in found.items():
        first, further = cost["first"], cost["further"]
        print(f"{name:<32}{first['sent'] / 1e3:>12.0f}{further['sent'] / 1e3:>9.0f}{first['formulas']:>10}"
              f"{first['paint']:>13.2f}{first['ready']:>17.2f}")
    total = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"the whole site on disk: {total / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
