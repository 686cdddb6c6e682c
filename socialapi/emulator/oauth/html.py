"""The HTML of the sign-in pages. All external text is escaped."""

import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from string import Template
from typing import Final

from socialapi.emulator.responses import Answer

HTML: Final = "text/html; charset=utf-8"

HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_PAGE: Final = Template(importlib.resources.files(__package__).joinpath("page.html").read_text("utf-8"))


def page(title: str, content: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Returns a complete page; `content` is HTML."""
    text = _PAGE.substitute(title=escape(title), content=content)
    return Answer(status, text.encode(), {**HEADERS, **(headers or {})}, HTML)


def message_page(title: str, *sentences: str, status: int = 200) -> Answer:
    """Returns a page with only a message."""
    return page(title, "\n".join(f"<p>{escape(sentence)}</p>" for sentence in sentences), status=status)


def pin_page(app_name: str, pin: str, headers: Mapping[str, str]) -> Answer:
    """Returns the last page of PIN mode, with the PIN to type into the app."""
    content = (
        f"<p>To finish, go back to <strong>{escape(app_name)}</strong> and enter this PIN:</p>\n"
        f'<p class="pin" id="pin">{escape(pin)}</p>\n'
        '<p class="faint">It can be used only once. You can close this window afterwards.</p>'
    )
    return page("Access granted", content, headers=headers)


def redirect(url: str, headers: Mapping[str, str] | None = None) -> Answer:
    """Returns a redirect to an address, which must be a registered one."""
    moved = {"Location": url, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
    return Answer(302, b"", {**moved, **(headers or {})}, HTML)


def bullets(title: str, kind: str, sentences: Sequence[str]) -> str:
    """Returns a titled list, or nothing if it is empty."""
    if not sentences:
        return ""
    items = "".join(f"<li>{escape(each)}</li>" for each in sentences)
    return f'<h2>{escape(title)}</h2>\n<ul class="{kind}">{items}</ul>\n'


def hidden_fields(fields: Mapping[str, str]) -> str:
    """Returns hidden fields of a form."""
    return "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">\n' for name, value in fields.items()
    )


def name_field(screen_name: str, known: Iterable[str], error: str) -> str:
    """Returns the input field of the sign-in form. A screen name is enough, because users have no passwords here."""
    options = "".join(f'<option value="{escape(name)}"></option>' for name in known)
    described = ' aria-describedby="problem" aria-invalid="true"' if error else ""
    return (
        '<label for="screen_name">Your screen name</label>\n'
        f'<input type="text" id="screen_name" name="screen_name" value="{escape(screen_name)}" list="known" required '
        f'autocomplete="username" autocapitalize="none" spellcheck="false"{described}>\n'
        f'<datalist id="known">{options}</datalist>\n'
        + (f'<p class="error" id="problem" role="alert">{escape(error)}</p>\n' if error else "")
        + '<p class="faint" style="margin-top:.5rem">This is an emulator: there is no password.</p>\n'
    )


BUTTONS: Final = (
    '<div class="buttons">\n'
    '<button type="submit" name="decision" value="approve">Approve</button>\n'
    '<button type="submit" name="decision" value="deny" class="quiet" formnovalidate>Deny</button>\n'
    "</div>\n"
)
