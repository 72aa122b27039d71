"""Finishing a site: what is dropped, what must stay, and where old addresses lead."""

import pytest
import tinycss2
from bs4 import BeautifulSoup
from finish import icon, lead_on, plain_tokens, tidy, used_rules, version, with_icons

SCRIPT = 'var x={"wrong-bars":[1,1,[],"f000","M9z"],"bars":[448,512,["navicon"],"f0c9","M0 96z"],sun:[512,512,[9728],"f185",["M1 1z","M2 2z"]]};'


def kept(sheet, *words):
    return used_rules(tinycss2.parse_stylesheet(sheet, skip_whitespace=True, skip_comments=True), set(words))


@pytest.mark.parametrize("sheet, words", [
    ("p{a:b}", ()), (".used{a:b}", ("used",)), (".used>p.also #id{a:b}", ("used", "also", "id")),
    (".used:not(.absent){a:b}", ("used",)), (":is(.absent,.used){a:b}", ("used",)), (".sd-w\\:1{a:b}", ("sd-w", "1")),
    ('.used[class*="x, .y"]{a:b}', ("used",)), (".bs-tooltip-auto{a:b}", ()), ("@keyframes x{from{a:b}}", ()),
])
def test_a_rule_that_a_page_can_meet_stays(sheet, words):
    assert kept(sheet, *words).replace("\n", "") == sheet


@pytest.mark.parametrize("sheet, left", [
    (".absent{a:b}", ""), (".used,.absent{a:b}", ".used{a:b}"), (".used.absent{a:b}", ""), ("#absent p{a:b}", ""),
    ("@media print{.absent{a:b}}", ""), ("@media print{.absent{a:b}.used{c:d}}", "@media print{.used{c:d}}"),
    ("@font-face{font-family:Font Awesome\\ 6 Free;src:url(x)}", ""),
])
def test_a_rule_for_what_stands_nowhere_goes(sheet, left):
    assert kept(sheet, "used") == left


def test_icons_are_drawn_in_the_page():
    page = '<span class="fa-solid fa-bars"></span><i class="theme-switch fa-solid fa-sun fa-lg" data-mode="light" title="Light"></i>'
    bars, sun = BeautifulSoup(with_icons(page, SCRIPT), "html.parser").find_all("svg")
    assert bars["viewbox"] == "0 0 448 512" and bars.path["d"] == "M0 96z" and bars["aria-hidden"] == "true"
    assert sun["data-mode"] == "light" and {"theme-switch", "fa-lg"} <= set(sun["class"]) and sun.path["d"] == "M1 1zM2 2z"
    with pytest.raises(ValueError, match="got 'moon'"):
        icon(SCRIPT, "moon")


def test_code_keeps_every_mark_that_changes_its_look():
    sheet = "".join(f'html[data-theme="{theme}"] .highlight {{ background: #fff; color: #08{base} }}\n'
                    f'html[data-theme="{theme}"] .highlight .n {{ color: #08{base} }}\n'
                    f'html[data-theme="{theme}"] .highlight .o {{ color: #{odd} }}\n'
                    f'html[data-theme="{theme}"] .highlight .k {{ color: #08{base}; font-weight: bold }}\n'
                    for theme, base, odd in (("light", "0", "080"), ("dark", "1", "123")))
    assert plain_tokens(sheet) == {"n"}
    page = '<pre><span class="n">x</span> <span class="o">=</span> <span class="k">1</span></pre>'
    assert tidy(page, "p.html", {"n"}) == page.replace('<span class="n">x</span>', "x")


def test_only_the_search_page_loads_the_index():
    page = '<head>\n<script src="_static/searchtools.js"></script>\n<script src="searchindex.js"></script></head>'
    assert "search" not in tidy(page, "one_head.html", set())
    assert tidy(page, "search.html", set()) == page


def test_an_old_address_leads_to_the_new_page_and_keeps_its_anchor(tmp_path):
    assert lead_on(tmp_path, {"chapters/old/name": "book/new#tab-x"}, {"book/new"}) == []
    page = (tmp_path / "chapters" / "old" / "name.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(page, "html.parser")
    assert soup.a["href"] == "../../book/new.html#tab-x" and soup.html["lang"] and soup.title.string
    assert 'location.replace("../../book/new.html" + (location.hash || "#tab-x"))' in page


@pytest.mark.parametrize("moved, what", [({"chapters/a": "book/b"}, "cannot lead elsewhere"), ({"old": "chapters/lost"}, "no page of the book")])
def test_a_redirect_that_cannot_work_is_refused(tmp_path, moved, what):
    assert what in lead_on(tmp_path, moved, {"chapters/a", "book/b"})[0]
    assert not list(tmp_path.rglob("*.html"))


def test_the_version_names_the_commit_only_of_the_book_s_own_repository(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1.2"\n')
    assert version(tmp_path) == "Version 1.2"
    assert version(tmp_path / "nowhere") == ""
