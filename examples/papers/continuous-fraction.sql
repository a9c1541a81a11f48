-- Continuous queries over data streams, Q2: the share of the backbone's packets that come from the
-- customer, by minute.
WITH both AS (
    SELECT window_end, count(*) AS packets
    FROM (SELECT B.timestamp AS at FROM PTb AS B JOIN PTc AS C
          ON B.saddr = C.saddr AND B.daddr = C.daddr AND B.id = C.id) [TUMBLING 1 MINUTE WATTR at]
), backbone AS (
    SELECT window_end, count(*) AS packets FROM PTb [TUMBLING 1 MINUTE WATTR timestamp]
)
SELECT backbone.window_end, coalesce(both.packets, 0) / backbone.packets AS share
FROM backbone LEFT JOIN both ON backbone.window_end = both.window_end
ORDER BY 1
