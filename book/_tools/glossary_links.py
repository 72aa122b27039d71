"""Link each chapter's first use of a word of the glossary to its entry.

Usage: glossary_links.py [PAGE ...]    writes the links; without pages, in every chapter.
Running it again changes nothing.  Only running text is linked: no headings, code, mathematics, tables or boxes.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pages import pages  # noqa: E402

# Words with an everyday meaning too: linked only where a chapter sets them in bold, which is where it defines them.
COMMON = {"annotation", "bias", "candidate", "cell", "context", "delay", "drift", "id", "key", "patch", "persistence", "rank",
          "sensitivity", "source", "value", "vocabulary", "activations"}
ROLE = re.compile(r"\{term\}`(?:([^`<]+?) <[^`>]+>|([^`]+))`")
INLINE = re.compile(r"`+[^`]*`+|\$[^$\n]+\$|\{[\w:+-]+\}`[^`]*`|!?\[[^\]\n]*\]\([^)\n]*\)|https?://\S+")


def entries(root: Path) -> list[list[str]]:
    """The words of each glossary entry, the first of them its name."""
    text = (root / "book" / "glossary.md").read_text(encoding="utf-8")
    body = re.search(r"^:::\{glossary\}\n(.*?)^:::$", text, re.S | re.M).group(1)
    return [[line for line in entry.splitlines() if not line.startswith(" ")] for entry in body.strip().split("\n\n")]


def unlinked(text: str) -> str:
    """The page without its links to the glossary."""
    return ROLE.sub(lambda match: match[1] or match[2], text)


def running(text: str) -> str:
    """The page with everything blanked that is not running text, at unchanged places."""
    lines, fence, section = [], "", False
    for line in text.split("\n"):
        opening = re.match(r"\s*(`{3,}|:{3,}|~{3,}|\$\$|---$)", line)
        keep = not fence and not opening
        if opening and not fence:
            fence = opening[1]
        elif fence and re.match(rf"\s*{re.escape(fence)}\s*(\(.*\))?$", line):
            fence = ""
        section |= keep and line.startswith("## ")
        aside = re.match(r"#|\([\w-]+\)=$|\*\*.*\*\*$|%|:\w+:", line) or (not section and re.match(r"- ", line))
        lines.append(line if keep and not aside else " " * len(line))
    return INLINE.sub(lambda match: " " * len(match[0]), "\n".join(lines))


def pattern(word: str) -> str:
    """A regular expression for a word of the glossary and its plural."""
    form = re.escape(word) + ("(?:e?s)?" if word[-1] != "s" else "")
    return rf"(?i:(?<=\*\*){form}(?=\*\*))" if word in COMMON else rf"(?i:(?<![\w-]){form}(?![\w-]))"


def linked(text: str, glossary: list[list[str]]) -> str:
    """The page with the first use of each entry linked, earlier links renewed."""
    text, seen, pieces, position = unlinked(text), set(), [], 0
    words = sorted(((word, entry[0]) for entry in glossary for word in entry), key=lambda pair: (-len(pair[0]), pair[0]))
    anything = re.compile("|".join(f"({pattern(word)})" for word, _ in words))
    for match in anything.finditer(running(text)):
        word, entry = words[match.lastindex - 1]
        if entry not in seen:
            seen.add(entry)
            says = match[0] if match[0].lower() == word.lower() else f"{match[0]} <{word}>"
            pieces += [text[position:match.start()], f"{{term}}`{says}`"]
            position = match.end()
    return "".join(pieces) + text[position:]


def chapters(root: Path):
    """The pages whose words are linked."""
    return [page for page in pages(root) if page.name.startswith("chapters/")]


def main(root: Path, names: list[str]):
    glossary = entries(root)
    for page in chapters(root):
        if not names or page.name in names:
            new = linked(page.text, glossary)
            if new != page.text:
                page.path.write_text(new, encoding="utf-8")
            print(f"{page.name}: {len(ROLE.findall(new))} words linked")


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[2], sys.argv[1:])
