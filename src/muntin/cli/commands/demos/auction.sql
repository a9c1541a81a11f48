-- An auction house: which auctions drew the most bids in the last ten minutes, minute by minute?
CREATE STREAM bids
  FROM simulate('auction', 'bids', hours => 1, seed => 7, gap_minutes => 5, files => 4)
  ON ts BY auction
  DISORDER SLACK '10 seconds';

CREATE QUERY hot AS
SELECT auction, window_end, count(*) AS bids, max(price) AS highest
FROM bids [RANGE 10 MINUTES SLIDE 1 MINUTE]
GROUP BY auction;

SELECT * FROM hot WHERE bids >= 30;
