"""HTML comes from templates, which escape whatever they are given."""

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import packetloom
from packetloom.common.templates import render_macro
from packetloom.course.sliders import Picture, Sliders
from packetloom.pages import notebook
from packetloom.pages.html import Cell, Page
from packetloom.pages.measures import Condition
from packetloom.pages.sentences import Name, Number, Row, Sentence

HOUSE = Path(packetloom.__file__).parent
NASTY = "<b x=\"1\" y='2'>&</script>"
ESCAPED = "&lt;b x=&#34;1&#34; y=&#39;2&#39;&gt;&amp;&lt;/script&gt;"


def page_of(text: str) -> str:
    """A page with a text in every place that takes one."""
    page, row = Page(text), Row(text, Condition(), text)
    page.heading(text)
    page.text(text)
    page.text(text, note=True)
    page.list([text])
    page.sentence(Sentence("best", (text, Name(text), Number(text, row))))
    page.sentence(Sentence("best", (Number(text, Row("elsewhere", Condition(), "")),)))
    page.table([text], [[text], [Cell(text, True)]], holds=[row, None])
    page.folded(text, text)
    page.chart({"name": text}, heading=text, note=text)
    page.give(text=text)
    return page.render()


def test_every_place_of_a_page_escapes() -> None:
    page = page_of(NASTY)
    assert NASTY not in page
    plain = page_of("Xq9")
    before_data, _, data = plain.partition('id="data"')
    assert page.count(ESCAPED) == before_data.count("Xq9") == 19
    assert (data.count("Xq9"), data.count("</script>")) == (2, 2)
    assert page.count("</script>") == plain.count("</script>")


def test_notebooks_and_sliders_escape() -> None:
    shown = notebook.table([NASTY], [[NASTY]]) + notebook.paragraph(NASTY)
    assert (shown.count(ESCAPED), NASTY in shown) == (3, False)
    sliders = Sliders({NASTY: [NASTY]}, {(NASTY,): Picture({NASTY: [(0, 1), (1, 2)]}, NASTY)}, NASTY, NASTY).html()
    assert (sliders.count(ESCAPED), NASTY in sliders) == (7, False)


def test_what_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="no attribute 'text'"):
        render_macro("pages", "parts.html", "text", {"note": False})


def test_only_templates_have_html() -> None:
    """Nothing escapes by hand; and what is not to be escaped is a file of ours, or was rendered by a template."""
    code = {file: file.read_text() for file in HOUSE.rglob("*.py")}
    assert [file for file, text in code.items() if re.search(r"html\.escape|import html\b|escape as ", text)] == []
    marked = {str(file.relative_to(HOUSE)): text.count("Markup(") for file, text in code.items() if "Markup(" in text}
    assert marked == {"pages/html.py": 2, "course/sliders.py": 1}
    templates = [*HOUSE.rglob("templates/*.html")]
    assert len(templates) == 5
    assert [file for file in templates if re.search(r"\|\s*safe|autoescape", file.read_text())] == []
