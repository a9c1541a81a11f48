-- Correlated aggregates, example 2: this year's international calls that last at least as long as
-- the average of them.
SELECT window_end, count(*) FILTER (WHERE duration >= avg(duration)) AS long_calls
FROM calls [LANDMARK '2026-01-01' SLIDE 1 DAY WATTR time]
WHERE isIntl = 1
