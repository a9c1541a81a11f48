-- Window-ID, section 3.2: a window of 5 minutes that ends at every row that arrives. seg-id is a
-- group without GROUP BY.
SELECT seg-id, count(*)
FROM Traffic [RANGE 300 seconds
              RATTR ts
              SLIDE 1 row
              SATTR row-num]
