"""Make the built site light and complete: what no page uses goes, icons are drawn in place, old addresses lead on.

Every step gives the same result when it meets its own work again, for a rebuild rewrites only some pages.
"""

import hashlib
import json
import re
import subprocess
import tomllib
from functools import cache
from html import escape, unescape
from pathlib import Path
from posixpath import relpath

import pydata_sphinx_theme
import tinycss2
import yaml

SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")
ICON = re.compile(r'<(i|span) class="([^"]*\bfa-(?:solid|regular|brands)\b[^"]*)"([^>]*)></\1>')
WORD = r"[\w-]+"
LATER = ("bs-tooltip", "kind-", "book-paper")  # names that scripts put together, and of links that come with the PDFs
NOT_A_NAME = {"fa-solid", "fa-regular", "fa-brands", "fa-lg", "fa-fw"}
REDIRECT = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta http-equiv="refresh" content="0; url={target}"><link rel="canonical" href="{target}">
<script>location.replace({page} + (location.hash || {anchor}))</script></head>
<body><main><h1>{title}</h1><p>Go on to <a href="{target}">{target}</a>.</p></main></body></html>
"""


def version(root: Path) -> str:
    """The book's version and the commit it was built from, as far as either is known."""
    project = root / "pyproject.toml"
    number = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"] if project.is_file() else ""

    def git(*words):
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    top = git("rev-parse", "--show-toplevel")
    commit = git("rev-parse", "--short=10", "HEAD") if top and Path(top).resolve() == root.resolve() else ""
    changed = " with changes" if commit and git("status", "--porcelain") else ""
    return ", ".join(part for part in (f"Version {number}" * bool(number), f"commit {commit}{changed}" * bool(commit)) if part)


@cache
def icon(script: str, name: str) -> tuple[int, int, str]:
    """Width, height and outline of an icon from the theme's script of icons."""
    found = re.search(rf'[{{,]"?{re.escape(name)}"?:(\[\d+,\d+,\[[^\]]*\],"[^"]*",(?:"[^"]*"|\[[^\]]*\])\])', script)
    if not found:
        raise ValueError(f"icon: wanted one of the theme's icons, got {name!r}")
    width, height, _, _, outline = json.loads(found[1])
    return width, height, "".join(outline)


def with_icons(page: str, script: str) -> str:
    """Icons as pictures in the page, instead of 1.5 MB of script that draws them when the page is open."""
    def drawn(match):
        _, classes, more = match.groups()
        name = next(c[3:] for c in classes.split() if c.startswith("fa-") and c not in NOT_A_NAME)
        width, height, outline = icon(script, name)
        shown = " ".join(f"svg-inline--fa {classes}".split())
        more = " ".join(re.sub(r'title="[^"]*"', "", more).split())
        return (f'<svg class="{shown}" {more} aria-hidden="true" viewBox="0 0 {width} {height}">'
                f'<path fill="currentColor" d="{outline}"/></svg>')

    return ICON.sub(drawn, page)


def plain_tokens(stylesheet: str) -> set[str]:
    """The classes of code tokens that look like the text around them, in every theme."""
    base, other = {}, {}
    for theme, name, colour in re.findall(r'data-theme="(\w+)"\] \.highlight(?: \.(\w+))? \{ (?:background: #\w+; )?([^}]*) \}', stylesheet):
        (other.setdefault(name, {}) if name else base)[theme] = colour
    return {name for name, colours in other.items() if colours == base}


def tidy(page: str, name: str, plain: set[str]) -> str:
    """A page without scripts and boxes that it does not use and marks that change nothing."""
    page = re.sub(r'\s*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName = .*?</script>', "", page, flags=re.S)
    page = re.sub(r'\s*<div class="sidebar-primary-item">\s*<div id="ethical-ad-placement".*?</div></div>', "", page, flags=re.S)
    page = re.sub(r'\s*<!-- So that users can add custom icons -->\s*<script defer src="[^"]*fontawesome\.js[^"]*"></script>', "", page)
    first, *others = re.split(r'\s*<meta name="viewport"[^>]*>', page) if page.count('name="viewport"') > 1 else (page,)
    if others:
        page = f'{first}\n    <meta name="viewport" content="width=device-width, initial-scale=1" />{"".join(others)}'
    page = re.sub(r"(<script>var togglebuttonSelector = [^<]*</script>)(.*?)\s*\1", r"\1\2", page, flags=re.S)
    page = page.replace('<div id="pst-primary-sidebar" class=', '<div id="pst-primary-sidebar" role="complementary" aria-label="The book" class=')
    if name != "search.html":
        page = re.sub(rf'\s*<script src="[^"]*(?:{"|".join(map(re.escape, SEARCH))})[^"]*"></script>', "", page)
    if plain:
        page = re.sub(rf'<span class="(?:{"|".join(sorted(plain))})">([^<]*)</span>', r"\1", page)
    return page


def with_sizes(page: str, folder: Path) -> str:
    """Pictures that load when they come near the window and have their place kept until then."""
    def sized(match):
        source = re.search(r'src="([^"]+\.svg)"', match[0])
        if "loading=" in match[0] or not source:
            return match[0]
        head = (folder / source[1]).read_text(encoding="utf-8")[:2000]
        sizes = [re.search(rf'<svg[^>]*?\b{side}="([\d.]+)(pt|px)?"', head) for side in ("width", "height")]
        if None in sizes:
            return match[0]
        width, height = (round(float(size[1]) * (4 / 3 if size[2] == "pt" else 1)) for size in sizes)
        return match[0].replace("<img ", f'<img loading="lazy" width="{width}" height="{height}" ', 1)

    main = page.find("<main")
    return page[:main] + re.sub(r"<img [^>]*>", sized, page[main:])


def used_selectors(prelude, words: set[str]) -> str:
    """The selectors of a list whose classes and ids all stand somewhere in the site.

    What stands in brackets, as in `:not(...)`, does not count: it may speak of what is absent.
    """
    kept, start = [], 0
    commas = [i for i, token in enumerate(prelude) if token.type == "literal" and token.value == ","]
    for end in [*commas, len(prelude)]:
        selector, start = prelude[start:end], end + 1
        names = [token.value for token in selector if token.type == "hash"]
        names += [token.value for dot, token in zip(selector, selector[1:]) if token.type == "ident" and dot == "."]
        if all(name.startswith(LATER) or set(re.findall(WORD, name)) <= words for name in names):
            kept.append(tinycss2.serialize(selector).strip())
    return ",".join(kept)


def used_rules(rules, words: set[str]) -> str:
    """The rules of a stylesheet that a page of the site can meet."""
    out = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = used_selectors(rule.prelude, words)
            if selectors:
                out.append(f"{selectors}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.type == "at-rule" and rule.content is not None and rule.lower_at_keyword in ("media", "supports"):
            inner = used_rules(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), words)
            if inner:
                out.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif rule.type == "at-rule" and not (rule.lower_at_keyword == "font-face" and "Awesome" in tinycss2.serialize(rule.content)):
            out.append(rule.serialize())
        elif rule.type == "error":
            raise ValueError(f"stylesheet: wanted CSS, got {rule.message}")
    return "\n".join(out)


def referenced(site: Path, pages: dict[Path, str]) -> set[Path]:
    """Files below _static whose names stand in a page, or in a stylesheet or script that one names."""
    files = [path for path in sorted((site / "_static").rglob("*")) if path.is_file()]
    kept, texts = set(), ["\n".join(pages.values())]
    while texts:
        text = texts.pop()
        for path in files:
            if path not in kept and path.name in text:
                kept.add(path)
                if path.suffix in (".css", ".js"):
                    texts.append(re.sub(r"sourceMappingURL=\S+", "", path.read_text(encoding="utf-8")))
    return kept


def write(path: Path, text: str):
    """Write only what changed, so that an unchanged page keeps its time of modification."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def redirects(root: Path) -> dict[str, str]:
    """Old page -> new page, from book/redirects.yml."""
    path = root / "book" / "redirects.yml"
    return (yaml.safe_load(path.read_text(encoding="utf-8")) or {}) if path.is_file() else {}


def lead_on(site: Path, moved: dict[str, str], known: set[str]) -> list[str]:
    """Write a page for every old address; return what is wrong with the list."""
    troubles = []
    for old, new in moved.items():
        page = new.partition("#")[0]
        if old in known:
            troubles.append(f"book/redirects.yml: {old} is a page of the book and cannot lead elsewhere")
        elif page not in known:
            troubles.append(f"book/redirects.yml: {old} leads to {new}, which is no page of the book")
        else:
            address, anchor = relpath(page, Path(old).parent.as_posix()) + ".html", new[len(page):]
            write(site / f"{old}.html", REDIRECT.format(title="This page has moved", target=escape(address + anchor),
                                                        page=json.dumps(address), anchor=json.dumps(anchor)))
    return troubles


def external_links(pages: dict[str, str]) -> dict[str, list[str]]:
    """Every address outside the book that a page's text names -> the pages."""
    found = {}
    for name, text in sorted(pages.items()):
        for url in re.findall(r'href="(https?://[^"]+)"', text[text.find("<main"):]):
            if name not in found.setdefault(unescape(url), []):
                found[unescape(url)].append(name)
    return dict(sorted(found.items()))


def finish(root: Path, site: Path, names: list[str]) -> list[str]:
    """Finish the site that Jupyter Book has left in `site`; return what is wrong with it."""
    root_page = names[0]
    moved = redirects(root) | ({"index": root_page} if root_page != "index" else {})
    troubles = lead_on(site, moved, set(names))
    if troubles:
        return troubles
    static = site / "_static"
    script = (Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/scripts/fontawesome.js").read_text(encoding="utf-8")
    plain = plain_tokens((static / "pygments.css").read_text(encoding="utf-8"))
    stamp = escape(version(root))
    pages = {}
    for path in sorted(site.rglob("*.html")):
        if static in path.parents:
            continue
        text = with_icons(tidy(path.read_text(encoding="utf-8"), path.name, plain), script)
        text = re.sub(r'(<p class="book-version">)[^<]*(</p>)', lambda m: m[1] + stamp + m[2], text)
        pages[path] = with_sizes(text, path.parent)
    links = external_links({path.relative_to(site).with_suffix("").as_posix(): text for path, text in pages.items()})
    write(site.parent / "external-links.json", json.dumps(links, indent=1) + "\n")
    kept = referenced(site, pages)
    scripts = [path.read_text(encoding="utf-8") for path in sorted(kept) if path.suffix == ".js"]
    words = set(re.findall(WORD, "\n".join([*pages.values(), *scripts])))
    for path in sorted(kept):
        if path.suffix == ".css":
            rules = tinycss2.parse_stylesheet(path.read_text(encoding="utf-8"), skip_comments=True, skip_whitespace=True)
            write(path, used_rules(rules, words) + "\n")
        elif path.suffix == ".js":
            write(path, re.sub(r"\n//# sourceMappingURL=\S+\s*$", "\n", path.read_text(encoding="utf-8")))
    kept = referenced(site, pages)
    for path in sorted(static.rglob("*"), reverse=True):
        if path.is_file() and path not in kept:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    digests = {path.relative_to(static).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:8] for path in kept}
    for path, text in pages.items():
        # a page written before the file was there has no digest of Sphinx's; it gets ours like the others
        write(path, re.sub(r'_static/([\w./-]+\.(?:css|js))(?:\?(?:v|digest)=\w+)?(?=")',
                           lambda m: f"_static/{m[1]}?v={digests[m[1]]}" if m[1] in digests else m[0], text))
    return []
