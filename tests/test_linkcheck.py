"""Links are tried again before they are called dead, on a host that answers as told."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from finish import external_links
from linkcheck import check, session
from urllib3.util import Retry

QUICK = Retry(total=3, backoff_factor=0, status_forcelist=(503,), allowed_methods=("HEAD", "GET"), raise_on_status=False)


@pytest.fixture
def host():
    class Host(BaseHTTPRequestHandler):
        tried = []

        def answer(self):
            Host.tried.append((self.command, self.path))
            shaky = self.path == "/shaky" and len([p for _, p in Host.tried if p == "/shaky"]) < 3
            status = 503 if shaky else {"/gone": 404, "/private": 403, "/down": 503}.get(self.path, 200)
            status = 405 if self.path == "/get-only" and self.command == "HEAD" else status
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD = answer

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Host.address = f"http://127.0.0.1:{server.server_port}"
    yield Host
    server.shutdown()


@pytest.mark.parametrize("path", ["/fine", "/shaky", "/get-only", "/private"])
def test_a_link_that_leads_somewhere_passes(host, path):
    assert check({host.address + path: ["page"]}, session(QUICK)) == []


@pytest.mark.parametrize("path, what", [("/gone", "status 404"), ("/down", "status 503")])
def test_a_dead_link_is_named_with_its_pages(host, path, what):
    assert check({host.address + path: ["a", "b"]}, session(QUICK)) == [f"{host.address}{path}: {what} (on a, b)"]
    assert len(host.tried) >= (2 if path == "/gone" else 4)


def test_a_host_without_answer_is_dead():
    assert "no answer" in check({"http://127.0.0.1:9/": ["a"]}, session(QUICK))[0]


def test_links_are_listed_with_their_pages_and_only_from_the_text():
    page = '<link href="https://x.org/css"><main><a href="https://x.org/?a=1&amp;b=2">x</a> <a href="other.html">y</a></main>'
    assert external_links({"b": page, "a": page}) == {"https://x.org/?a=1&b=2": ["a", "b"]}
