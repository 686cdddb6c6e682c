"""What is said about refused deliveries, and how often."""

import logging

import pytest

from socialapi.webhooks.endpoint import Refusals


def test_the_first_is_said_at_once_and_the_others_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    times = [100.0, 101.0, 159.0, 160.0, 161.0, 400.0]
    refusals = Refusals(iter(times).__next__)
    for _ in times:
        refusals.count()
    question = "the signature does not match; is the app's secret correct?"
    assert [record.message for record in caplog.records] == [
        f"refused 1 delivery: {question}",
        f"refused 3 deliveries: {question}",
        f"refused 2 deliveries: {question}",
    ]
    assert {(record.name, record.levelno) for record in caplog.records} == {("socialapi", logging.WARNING)}
