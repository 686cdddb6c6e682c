"""The dashboard at `/_emulator/`: one page, which asks the control plane for all that it shows."""

import base64
import functools
import hashlib
import importlib.resources
import re

from socialapi.emulator.responses import Answer


@functools.cache
def dashboard() -> Answer:
    """The page, which may load nothing, and run nothing but its own script."""
    text = importlib.resources.files(__package__).joinpath("dashboard.html").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src {_allowed('script', text)}; style-src {_allowed('style', text)}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin"}
    return Answer(200, text.encode(), headers, "text/html; charset=utf-8")


def _allowed(tag: str, text: str) -> str:
    """Returns the digest by which a policy allows the one inline element with this tag."""
    (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
