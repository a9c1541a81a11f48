-- Continuous queries over data streams, Q1: the load of the backbone by minute, if above a bound.
SELECT window_start AS minute, sum(length) AS load
FROM PTb [TUMBLING 1 MINUTE WATTR timestamp]
HAVING load > 2500
