"""``/metrics``: figures of streams, queries and the service itself, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from muntin.server.metrics_text import Metric, written
from muntin.server.service import Reader, Service, ServiceHere
from muntin.server.shapes import freshness_of

router = APIRouter(tags=["health"])

#: The figures of a query: what the cost of it says, and what that is.
_OF_QUERIES = (
    ("rows", "counter", "Rows of the stream since the query began."),
    ("used", "counter", "Rows that count in its answers."),
    ("late", "counter", "Rows that were dropped because they came too late."),
    ("refused", "counter", "All rows that were dropped, the late ones too."),
    ("answers", "counter", "Rows of its answers."),
    ("answer_bytes", "counter", "Bytes of its answers."),
    ("cpu_seconds", "counter", "Processor time: that of what runs it, divided by its queries."),
    ("state_bytes", "gauge", "Bytes that are kept for it and those it shares with."),
)
_MEDIA = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(service: ServiceHere, _: Reader) -> PlainTextResponse:
    """Return figures in the text format of Prometheus."""
    own = _of_service(service)
    counted = await service.threads.run(_of_engine, service)
    return PlainTextResponse(written([*own, *counted]), media_type=_MEDIA)


def _of_service(service: Service) -> list[Metric]:
    subscribers = Metric("subscribers", "gauge", "Pages and programs that watch events.")
    subscribers.add(service.hub.subscribers)
    sent = Metric("event_rows_total", "counter", "Rows that were sent as events.")
    sent.add(service.hub.sent_rows)
    skipped = Metric("event_rows_skipped_total", "counter", "Rows that slow subscribers skipped.")
    skipped.add(service.hub.skipped_rows)
    answered = Metric("http_answers_total", "counter", "Requests that were answered, by status.")
    for status, count in sorted(service.answered.items()):
        answered.add(count, status=status)
    return [subscribers, sent, skipped, answered]


def _of_engine(service: Service) -> list[Metric]:
    queries = [
        Metric(f"query_{name}{'_total' if kind == 'counter' else ''}", kind, about)
        for name, kind, about in _OF_QUERIES
    ]
    active = Metric("query_active", "gauge", "1 if the query is active, 0 if it is not.")
    rows = Metric("stream_rows_total", "counter", "Rows that the stream has read.")
    batch = Metric("stream_micro_batch", "gauge", "The last micro-batch.")
    state = Metric("stream_state_bytes", "gauge", "Bytes that its queries keep.")
    fresh = [
        Metric("stream_input_lag_seconds", "gauge", "From the newest row to the clock."),
        Metric("stream_disorder_wait_seconds", "gauge", "From the punctuation to the newest row."),
        Metric("stream_own_work_seconds", "gauge", "How long the last micro-batch took."),
    ]
    for stream in service.streams:
        rows.add(stream.costs.rows, stream=stream.name)
        batch.add(stream.micro_batch, stream=stream.name)
        state.add(stream.costs.state_bytes, stream=stream.name)
        for metric, seconds in zip(fresh, freshness_of(stream).values(), strict=True):
            metric.add(seconds, stream=stream.name)
        for record, cost in service.costs(stream):
            labels = {"stream": stream.name, "query": record.name or record.id}
            active.add(float(record.status == "active"), **labels)
            for (name, *_), metric in zip(_OF_QUERIES, queries, strict=True):
                metric.add(getattr(cost, name), **labels)
    return [rows, batch, state, *fresh, active, *queries]
