-- Panes, Query 4 (in words there): items that had at least 5% of the bids of the past 10 minutes,
-- every minute.
SELECT window_end, heavy_hitters(item-id, 0.05) AS items
FROM bids [WATTR timestamp RANGE 10 minutes SLIDE 1 minute]
