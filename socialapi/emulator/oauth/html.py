"""The HTML of the sign-in pages. All external text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from socialapi.emulator.responses import Answer

HTML: Final = "text/html; charset=utf-8"

HEADERS: Final[Mapping[str, str]] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_STYLE: Final = """
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #fff; --ink: #16181d; --faint: #5b6270; --line: #d5d9e0;
  --accent: #0b5fd8; --on-accent: #fff; --bad: #b3261e; --bad-ground: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --ground: #0f1115; --card: #1a1d23; --ink: #eceef2; --faint: #a3abb9;
  --line: #363c47; --accent: #7fb2ff; --on-accent: #0b1a30; --bad: #ffb4ab; --bad-ground: #3b1512; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem 1rem; background: var(--ground);
  color: var(--ink); font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { width: 100%; max-width: 27rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem;
  padding: 2rem; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: 0 0 .75rem; }
ul { list-style: none; margin: 0; padding: 0; }
li { position: relative; padding: .2rem 0 .2rem 1.6rem; }
li::before { position: absolute; left: .15rem; font-weight: 700; }
.may li::before { content: "\\2713"; color: var(--accent); }
.may-not li { color: var(--faint); }
.may-not li::before { content: "\\2013"; }
.faint { color: var(--faint); font-size: .9rem; }
.error { margin: 1rem 0 0; padding: .6rem .8rem; border-radius: .5rem; color: var(--bad); background: var(--bad-ground); }
label { display: block; font-weight: 600; margin: 1.5rem 0 .35rem; }
input[type=text] { width: 100%; font: inherit; color: inherit; background: transparent; padding: .65rem .75rem;
  border: 1px solid var(--faint); border-radius: .5rem; }
.who { margin: 1.5rem 0 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem; }
button { flex: 1 1 7rem; font: inherit; font-weight: 600; padding: .75rem 1rem; border-radius: .5rem; cursor: pointer;
  border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); }
button.quiet { background: transparent; color: var(--ink); border-color: var(--faint); }
button.link { flex: none; padding: 0; border: 0; background: none; color: var(--accent); font-weight: 400;
  text-decoration: underline; }
button:hover { filter: brightness(1.08); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
a { color: var(--accent); }
.pin { font: 700 2.6rem/1.2 ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; letter-spacing: .12em;
  text-align: center; user-select: all; margin: 1.5rem 0; padding: 1rem 0; border: 1px dashed var(--line); border-radius: .75rem; }
@media (max-width: 24rem) { main { padding: 1.5rem 1.25rem; } .pin { font-size: 2.1rem; letter-spacing: .06em; } }
"""


def page(title: str, content: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Returns a complete page; `content` is HTML."""
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n<h1>{escape(title)}</h1>\n{content}\n</main>\n</body>\n</html>\n"
    )
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
