"""The table of endpoints: complete, and what the code says."""

from pathlib import Path

from tests.support.modules import module_at

table = module_at(Path(__file__).parents[1] / "docs" / "endpoints.py")


def test_every_route_has_a_method() -> None:
    missing = [f"{row.route.method} {row.route.path}" for row in table.rows() if not row.methods]
    assert not missing, f"no public method in socialapi/resources asks {', '.join(missing)}"


def test_the_page_is_what_the_code_says() -> None:
    written, right = (text.splitlines() for text in (table.TABLE.read_text("utf-8"), table.markdown()))
    wrong = [line for line in (*right, *written) if (line in right) != (line in written)]
    assert not wrong, "run `python docs/endpoints.py`; other lines are: " + "\n".join(wrong)
    assert written == right
