"""A specification, which prints itself as the papers write it, is what its text is read as.

So are the clauses that are for an engine.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from muntin.parser.engine_statements import EngineQueryClause, EngineStreamClause
from muntin.parser.parse import parse, parse_query
from muntin.parser.statements import CreateInputs, CreateQuery, CreateStream, Windowing
from muntin.specs.lengths import Duration, Length, Number, parse_length
from muntin.specs.row_windows import Landmarks, RowWindow, Session, SlideOnWindow, TupleWindow
from muntin.specs.windows import Landmark, Window

Spec = Window | Landmark | RowWindow | TupleWindow | SlideOnWindow | Session | Landmarks

names = st.sampled_from(["ts", "x", "seg-id", "arrival", "window", "rows"])
counts = st.integers(1, 10**6)
durations = st.integers(1, 10**12).map(Duration)
numbers = st.decimals("0.001", 10**6, places=3).map(Number)
lengths = st.one_of(st.tuples(durations, durations), st.tuples(numbers, numbers))
origins = st.one_of(st.none(), st.integers(-1000, 1000))
orders = st.sampled_from(["on", "arrival"])


def read(text: str) -> Windowing:
    (windowing,) = parse_query(f"SELECT count(*) FROM t [{text}]").windowings.values()
    return windowing


def rebuilt(windowing: Windowing) -> Spec:
    """The specification that Python makes of the arguments."""
    given, on = dict(windowing.arguments), windowing.on or "x"
    match windowing.method:
        case "window" if "slide_on" in given:
            return SlideOnWindow(on=on, **given)  # type: ignore[arg-type]
        case "window":
            return Window(on=on, **given)
        case "landmark" if isinstance(given["origin"], list):
            return Landmarks(on, given.get("slide"), given["origin"])
        case "landmark":
            return Landmark(on=on, **given)
        case "rows":
            return RowWindow(on=on, **given)
        case "by_tuple":
            return TupleWindow(on=on, **given)
        case _:
            return Session(on, **given)  # type: ignore[arg-type]


@given(lengths, names, origins)
def test_sliding_windows(pair: tuple[Length, Length], on: str, origin: int | None) -> None:
    spec = Window(*pair, on, origin)
    assert rebuilt(read(str(spec))) == spec


@given(lengths, names, st.sampled_from(["km", "milepost"]), origins)
def test_slides_along_another_column(
    pair: tuple[Length, Length], on: str, other: str, origin: int | None
) -> None:
    spec = SlideOnWindow(*pair, on, other, origin)
    assert rebuilt(read(str(spec))) == spec


@given(counts, counts, names)
def test_windows_of_rows(range_: int, slide: int, on: str) -> None:
    spec = RowWindow(range_, slide, on)
    assert rebuilt(read(str(spec))) == spec


@given(counts, counts)
def test_windows_of_rows_as_they_arrive(range_: int, slide: int) -> None:
    spec = RowWindow(range_, slide, "x", order="arrival")
    assert rebuilt(read(str(spec))) == spec


@given(durations, names, counts, orders)
def test_windows_at_rows(range_: Duration, on: str, every: int, order: str) -> None:
    spec = TupleWindow(range_, on, every, order)
    assert rebuilt(read(str(spec))) == spec


@given(durations, names, st.integers(-1000, 1000))
def test_landmarks(slide: Duration, on: str, origin: int) -> None:
    spec = Landmark(slide, on, origin)
    assert rebuilt(read(str(spec))) == spec


@given(durations, names, st.lists(st.integers(0, 1000), min_size=2, max_size=4, unique=True))
def test_several_landmarks(slide: Duration, on: str, found: list[int]) -> None:
    spec = Landmarks(on, slide, sorted(found))
    assert rebuilt(read(str(spec))) == spec


@given(st.one_of(durations, numbers), names)
def test_sessions(gap: Length, on: str) -> None:
    spec = Session(on, gap)
    assert rebuilt(read(str(spec))) == spec


@given(st.one_of(durations, numbers))
def test_a_length_is_read_as_it_prints(length: Length) -> None:
    windowing = read(f"TUMBLING {length} WATTR x")
    assert parse_length("length", windowing.arguments["length"]) == length


def test_every_relation_has_a_name_of_its_own() -> None:
    """Also where names that Muntin would give stand in the text already."""
    part = "SELECT 'w1 w3' AS a, count(*) AS n FROM t [TUMBLING 5 WATTR x]"
    query = parse_query(" UNION ALL ".join([part] * 5))
    assert list(query.windowings) == ["w0", "w2", "w4", "w5", "w6"]


texts = st.text(st.characters(exclude_categories=["C"]), max_size=20)
values = st.one_of(texts, st.integers(), st.floats(allow_nan=False, allow_infinity=False))
queries_of_engines = st.builds(
    EngineQueryClause,
    start=st.one_of(st.none(), st.sampled_from(["now", "history"]), values),
    until=st.one_of(st.none(), values),
    owner=st.one_of(st.none(), texts),
    tags=st.lists(texts, max_size=3).map(tuple),
    every=st.one_of(st.none(), durations.map(str)),
    emit=st.sampled_from([None, "final", "early"]),
    description=st.one_of(st.none(), texts),
)
streams_of_engines = st.builds(
    EngineStreamClause,
    keep=st.one_of(st.none(), durations.map(str), counts.map(str)),
    grain=st.one_of(st.none(), durations.map(str), counts.map(str)),
    carry=st.one_of(st.none(), st.lists(names, min_size=1, max_size=3).map(tuple)),
)


@given(queries_of_engines)
def test_what_an_engine_is_to_do_with_a_query(clause: EngineQueryClause) -> None:
    (created,) = parse(f"CREATE QUERY q {clause} AS SELECT 1")
    assert isinstance(created, CreateQuery)
    assert created.engine == clause
    (again,) = parse(str(created))
    assert again == created
    given = {name: value for name, value in vars(clause).items() if value and name != "places"}
    assert {name: value for name, value in created.engine.arguments.items() if value} == given


@given(streams_of_engines)
def test_what_an_engine_is_to_do_with_a_stream(clause: EngineStreamClause) -> None:
    (created,) = parse(f"CREATE STREAM t FROM csv('x') ON ts {clause}")
    assert isinstance(created, CreateStream)
    assert created.engine == clause
    assert parse(str(created)) == (created,)
    assert set(created.engine.arguments) == {
        name for name in ("keep", "grain", "carry") if getattr(clause, name) is not None
    }


@given(st.lists(streams_of_engines, min_size=1, max_size=3), streams_of_engines)
def test_what_an_engine_is_to_do_with_a_stream_of_several_inputs(
    clauses: list[EngineStreamClause], shared: EngineStreamClause
) -> None:
    """Columns to carry are those of an input, or those of all; what is kept is kept of all."""
    of_inputs = [EngineStreamClause(carry=c.carry, places={}) for c in clauses]
    inputs = [f"i{n} AS csv('x') ON ts BY a, b {c}" for n, c in enumerate(of_inputs)]
    (created,) = parse(f"CREATE STREAM t ({', '.join(inputs)}) DISORDER SLACK 1 SECOND {shared}")
    assert isinstance(created, CreateInputs)
    assert (created.engine.keep, created.engine.grain) == (shared.keep, shared.grain)
    assert created.engine.carry is None
    assert [own.name for own in created.inputs] == [f"i{n}" for n in range(len(clauses))]
    for own, clause in zip(created.inputs, of_inputs, strict=True):
        assert own.by == ("a", "b")
        assert str(own.disorder) == "slack 1 second"
        assert own.engine.carry == (clause.carry or shared.carry)
    assert parse(str(created)) == (created,)
