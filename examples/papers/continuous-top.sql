-- Continuous queries over data streams, Q3: pairs of addresses with more traffic than 95 percent of
-- all, by hour.
WITH load AS (
    SELECT window_end, saddr, daddr, sum(length) AS traffic
    FROM PTb [TUMBLING 1 HOUR WATTR timestamp]
    GROUP BY saddr, daddr
), ranked AS (
    SELECT *, rank() OVER (PARTITION BY window_end ORDER BY traffic) - 1 AS below,
           count(*) OVER (PARTITION BY window_end) AS pairs
    FROM load
)
SELECT window_end, saddr, daddr, traffic FROM ranked
WHERE below > 0.95 * pairs
ORDER BY window_end, traffic
