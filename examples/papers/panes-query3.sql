-- Panes, Query 3: how many bids each item had in the past 4 minutes, every minute. The window
-- stands behind GROUP BY.
SELECT count(*) FROM bids
GROUP BY item-id [WATTR timestamp
RANGE 4 minutes
SLIDE 1 minute]
