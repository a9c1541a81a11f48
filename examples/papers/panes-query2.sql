-- Panes, Query 2: the highest bid of the past 4 minutes, at every bid.
SELECT max (bid-price)
FROM bids [WATTR timestamp
RANGE 4 minutes
SLIDE 1 tuple]
