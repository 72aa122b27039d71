"""Saving a chapter in Jupyter changes the lines that were edited, and no others.

Jupytext writes a whole notebook anew, with its own spacing, quoting and header.  Before the file is written, every
part that means the same as before is put back as it was typed.
"""

import json
import re
from difflib import SequenceMatcher
from pathlib import Path

import yaml

HEADER = re.compile(r"\A---\n(.*?)^---\n", re.S | re.M)
CELL = re.compile(r"^(?P<open>(?P<fence>`{3,})\{code-cell\}[^\n]*\n)(?P<options>---\n.*?^---\n|(?::[\w-]+:[^\n]*\n)*)"
                  r"(?P<code>.*?)^(?P<close>(?P=fence)[^\S\n]*\n?)", re.S | re.M)


def _header(text: str) -> str:
    """What a header says, without the versions and names that depend on the machine."""
    said = yaml.safe_load(HEADER.match(text)[1]) or {}
    written = said.get("jupytext", {}).get("text_representation", {})
    for key in ("format_version", "jupytext_version"):
        written.pop(key, None)
    said["kernelspec"] = said.get("kernelspec", {}).get("name")
    said.pop("language_info", None)
    return json.dumps(said, sort_keys=True)


def _options(text: str) -> str:
    """What a cell's options say, in either spelling; which cells are folded right now is the reader's own affair."""
    said = yaml.safe_load(text[4:-4] if text.startswith("---") else re.sub(r"(?m)^:([\w-]+):", r"\1:", text)) or {}
    shown = said.pop("jupyter", {})
    said |= {key: value for key, value in shown.items() if key not in ("source_hidden", "outputs_hidden")}
    return json.dumps(said, sort_keys=True)


def parts(text: str) -> list[tuple[str, str]]:
    """A chapter in pieces that follow one another: (what the piece means, how it is typed)."""
    found, position = [], 0
    if header := HEADER.match(text):
        found.append(("header " + _header(text), header[0]))
        position = header.end()
    for cell in CELL.finditer(text, position):
        prose = text[position:cell.start()]
        found += [("prose " + prose.strip(), prose), ("open " + cell["open"].strip(), cell["open"]),
                  ("options " + _options(cell["options"]), cell["options"]),
                  ("code " + cell["code"].strip("\n"), cell["code"]), ("close", cell["close"])]
        position = cell.end()
    return [*found, ("prose " + text[position:].strip(), text[position:])]


def as_typed(old: str, new: str) -> str:
    """The text of `new`, with every piece that `old` has as well in the way that `old` has it."""
    before, after = parts(old), parts(new)
    matcher = SequenceMatcher(None, [key for key, _ in before], [key for key, _ in after], autojunk=False)
    written = []
    for kind, i, j, k, m in matcher.get_opcodes():
        for key, text in before[i:j] if kind == "equal" else after[k:m]:
            edited_code = kind != "equal" and key.startswith("code ")
            written.append(text.strip("\n") + "\n" if edited_code else text)  # jupytext begins code with a blank line
    result = "".join(written)
    return result if [key for key, _ in parts(result)] == [key for key, _ in after] else new


def before_saving(model, path, contents_manager, **kwargs):
    """Jupyter's pre-save hook."""
    if model.get("type") != "file" or not path.endswith(".md") or not isinstance(model.get("content"), str):
        return
    typed = Path(contents_manager._get_os_path(path))
    if typed.is_file():
        model["content"] = as_typed(typed.read_text(encoding="utf-8"), model["content"])
