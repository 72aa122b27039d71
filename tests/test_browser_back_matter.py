"""The revision sheet on paper."""

import re

import pytest
from test_browser import address, browser  # noqa: F401  the fixtures


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_revision_sheet_prints_on_two_pages(browser, address, paper):  # noqa: F811
    tab = browser.new_page()
    tab.goto(f"{address}/book/revision_sheet.html", wait_until="load")
    tab.emulate_media(media="print")
    words = tab.eval_on_selector_all(".revision-sheet", "sheets => sheets.map(sheet => sheet.innerText.split(/\\s+/).length)")
    pages = tab.pdf(format=paper, margin=dict.fromkeys(("top", "right", "bottom", "left"), "10mm"))
    tab.close()
    assert len(words) == 2 and min(words) > 150, "two sheets with something on each"
    assert len(re.findall(rb"/Type\s*/Page\b", pages)) == 2
