"""Try every external link of the built book, several times before calling it dead.

The build lists the links, with the pages they stand on, in _build/external-links.json; it never follows them itself.
Exit status 1 when a link is dead.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

ROOT = Path(__file__).resolve().parents[2]
RETRY = Retry(total=4, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=("HEAD", "GET"), raise_on_status=False)
REFUSED = (401, 403, 405, 429)  # the host is there and does not talk to programs


def session(retry: Retry = RETRY) -> requests.Session:
    made = requests.Session()
    made.headers["User-Agent"] = "Mozilla/5.0 (link check of a textbook)"
    for scheme in ("http://", "https://"):
        made.mount(scheme, HTTPAdapter(max_retries=retry, pool_maxsize=8))
    return made


def verdict(client: requests.Session, url: str) -> str:
    """Empty for a link that leads somewhere, otherwise what was met instead."""
    try:
        answer = client.head(url, timeout=20, allow_redirects=True)
        if answer.status_code >= 400:  # some hosts answer only to GET
            answer = client.get(url, timeout=20, stream=True)
            answer.close()
    except requests.RequestException as error:
        return f"no answer: {type(error).__name__}"
    return f"status {answer.status_code}" if answer.status_code >= 400 and answer.status_code not in REFUSED else ""


def check(links: dict[str, list[str]], client: requests.Session) -> list[str]:
    """A line for each dead link, with the pages that name it."""
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda url: verdict(client, url), links)
    return [f"{url}: {what} (on {', '.join(pages)})" for (url, pages), what in zip(links.items(), found) if what]


def main():
    path = ROOT / "_build" / "external-links.json"
    if not path.is_file():
        sys.exit(f"wanted {path}, which a build writes; run `make book` first")
    links = json.loads(path.read_text(encoding="utf-8"))
    dead = check(links, session())
    print("\n".join([*dead, f"{len(links)} external links, {len(dead)} dead"]))
    sys.exit(bool(dead))


if __name__ == "__main__":
    main()
