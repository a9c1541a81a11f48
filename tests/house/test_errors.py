from __future__ import annotations

import pytest

from muntin import errors


def test_every_error_is_ours_and_also_what_a_caller_would_catch() -> None:
    also = {
        errors.ArgumentError: ValueError,
        errors.ContradictionError: ValueError,
        errors.UnknownColumnError: LookupError,
        errors.UnsupportedTypeError: TypeError,
        errors.ExpressionError: ValueError,
        errors.RequirementError: RuntimeError,
        errors.ScanError: RuntimeError,
        errors.CheckpointError: RuntimeError,
        errors.TieError: ValueError,
        errors.EmptySlotsError: ValueError,
        errors.TooManyPlacesError: ValueError,
        errors.OwnFramingError: RuntimeError,
        errors.OwnFunctionError: RuntimeError,
        errors.SumOverflowError: ArithmeticError,
        errors.OwnAggregateError: RuntimeError,
        errors.CannotEvaluate: ValueError,
        errors.RowError: ArithmeticError,
        errors.ActionError: RuntimeError,
        errors.SpoolError: OSError,
        errors.QueryFailedError: RuntimeError,
        errors.EngineError: RuntimeError,
        errors.UnknownQueryError: LookupError,
    }
    ours = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.MuntinError)
    }
    assert ours == {errors.MuntinError, *also}
    for kind, builtin in also.items():
        assert issubclass(kind, errors.MuntinError)
        assert issubclass(kind, builtin)


def test_an_argument_error_names_the_argument() -> None:
    error = errors.ArgumentError("range", "x", "it must be longer")
    assert str(error) == "range='x' cannot be used: it must be longer"
    assert (error.argument, error.given) == ("range", "x")


def test_an_unknown_column_lists_what_exists() -> None:
    near = errors.UnknownColumnError("on", "sped", ["speed", "ts"])
    assert str(near) == (
        "on='sped' is not a column of the DataFrame (did you mean 'speed'?); "
        "its columns are speed, ts"
    )
    far = errors.UnknownColumnError("by", "zzz", ["speed", "ts"])
    assert str(far) == "by='zzz' is not a column of the DataFrame; its columns are speed, ts"
    assert (far.argument, far.name) == ("by", "zzz")


@pytest.mark.parametrize(
    ("position", "shown"),
    [
        (None, "no\n  max(x"),
        (0, "no\n  max(x\n  ^"),
        (4, "no\n  max(x\n      ^"),
        (-1, "no\n  max(x\n  ^"),
    ],
)
def test_an_expression_error_marks_the_place(position: int | None, shown: str) -> None:
    error = errors.ExpressionError("no", "max(x", position)
    assert str(error) == shown
    assert error.text == "max(x"


def test_did_you_mean() -> None:
    assert errors.did_you_mean("mx", ["max", "min"]) == " (did you mean 'max'?)"
    assert errors.did_you_mean("percentile", ["max", "min"]) == ""
    assert errors.did_you_mean("max", []) == ""
