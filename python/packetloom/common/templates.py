"""HTML from templates: what a template is given is escaped, unless it is `Markup`; what it lacks is an error.

Jinja2 takes 0.1 CPU-s to import, so it is imported where a page is written, and no command's start waits for it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def render(room: str, template: str, /, **given: Any) -> str:
    """The text of a template of `packetloom/ROOM/templates`."""
    return _environment(room).get_template(template).render(given)


def render_macro(room: str, template: str, macro: str, *given: object) -> str:
    """What one macro of such a template makes of its arguments, as plain text."""
    return str(getattr(_environment(room).get_template(template).module, macro)(*given))


@cache
def _environment(room: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader(f"packetloom.{room}"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # Of `tojson`: keys keep their order, and JSON has neither NaN nor infinity.
    found.policies["json.dumps_kwargs"] = {"allow_nan": False}
    return found
