-- Correlated aggregates, example 3: international calls of the last two weeks within 10% of the
-- longest of them.
SELECT origin, window_end, count(*) FILTER (WHERE duration >= 0.9 * max(duration)) AS longest
FROM calls [RANGE 2 WEEKS SLIDE 1 DAY WATTR time]
WHERE isIntl = 1
GROUP BY origin
