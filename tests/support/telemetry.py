"""What the package tells OpenTelemetry in a test: its spans as a tree, and its metrics."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs
import pytest
from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, HistogramDataPoint, InMemoryMetricReader, Metric
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SCOPE: Final = "socialapi"


class _OpenSpans(SpanProcessor):
    """Knows the spans that have begun and not ended."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.names[_id_of(span)] = span.name

    def on_end(self, span: ReadableSpan) -> None:
        del self.names[_id_of(span)]


@attrs.frozen
class Recorded:
    """What was recorded since the test began."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    opened: _OpenSpans

    @property
    def open_spans(self) -> list[str]:
        """The names of the spans that have not ended."""
        return list(self.opened.names.values())

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans of the package that have ended, in the order of their beginning."""
        found = [span for span in self.exporter.get_finished_spans() if _scope_of(span) == SCOPE]
        return sorted(found, key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of a name, or of an HTTP method and any template."""
        return [span for span in self.spans if name in (span.name, span.name.split(" ")[0])]

    def below(self, parent: ReadableSpan) -> list[ReadableSpan]:
        """The spans directly below another."""
        return [span for span in self.spans if span.parent and span.parent.span_id == _id_of(parent)]

    def tree(self) -> list[str]:
        """Each span in a line, indented below its parent, with its status code or class of error."""
        spans = self.spans
        ids = {_id_of(span) for span in spans}
        below: dict[int | None, list[ReadableSpan]] = {}
        for span in spans:
            parent = span.parent.span_id if span.parent is not None and span.parent.span_id in ids else None
            below.setdefault(parent, []).append(span)

        def lines(parent: int | None, indent: str) -> Iterator[str]:
            for span in below.get(parent, ()):
                told = attributes_of(span)
                says = told.get("error.type") or told.get("http.response.status_code") or ""
                yield f"{indent}{span.name.split(' ')[0]} {says}".rstrip()
                yield from lines(_id_of(span), f"{indent}  ")

        return list(lines(None, ""))

    def metrics(self) -> dict[str, Metric]:
        """The metrics of the package by their names, since they were asked for last."""
        data: Any = self.reader.get_metrics_data()
        scopes = [scope for resource in (data.resource_metrics if data else ()) for scope in resource.scope_metrics]
        return {metric.name: metric for scope in scopes if scope.scope.name == SCOPE for metric in scope.metrics}

    def everything(self) -> list[str]:
        """All that is exported, as text."""
        spans = [span.to_json() for span in self.spans]
        return [*spans, *(metric.to_json() for metric in self.metrics().values())]


def _id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def _scope_of(span: ReadableSpan) -> str:
    return span.instrumentation_scope.name if span.instrumentation_scope is not None else ""


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def events_of(span: ReadableSpan) -> list[tuple[str, dict[str, Any]]]:
    return [(event.name, dict(event.attributes or {})) for event in span.events]


def points(metric: Metric) -> Sequence[Any]:
    return metric.data.data_points


def by(metric: Metric, *names: str) -> dict[Any, Any]:
    """The values of a metric by these attributes: sums of a counter, numbers of values of a histogram."""
    found: dict[Any, Any] = {}
    for point in points(metric):
        key = tuple(point.attributes.get(name) for name in names)
        value = point.count if isinstance(point, HistogramDataPoint) else point.value
        found[key if len(key) != 1 else key[0]] = found.get(key if len(key) != 1 else key[0], 0) + value
    return found


@functools.cache
def _recording() -> Recorded:
    """Sets the providers of this process, which can be done once."""
    delta = AggregationTemporality.DELTA
    exporter, opened = InMemorySpanExporter(), _OpenSpans()
    reader = InMemoryMetricReader(preferred_temporality={Counter: delta, Histogram: delta})
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(opened)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
    return Recorded(exporter, reader, opened)


@pytest.fixture
def recorded(caplog: pytest.LogCaptureFixture) -> Iterator[Recorded]:
    """What is recorded in this test. All of its spans have to end, and OpenTelemetry may have nothing
    to complain about.
    """
    recorded = _recording()
    recorded.exporter.clear()
    recorded.opened.names.clear()
    recorded.metrics()
    yield recorded
    assert recorded.open_spans == []
    assert [record.getMessage() for record in caplog.records if record.name.startswith("opentelemetry")] == []
