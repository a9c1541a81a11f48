-- Panes, Query 1: the highest bid of the past 4 minutes, every minute.
SELECT max(bid-price)
FROM bids[WATTR timestamp
RANGE 4 minutes
SLIDE 1 minute]
