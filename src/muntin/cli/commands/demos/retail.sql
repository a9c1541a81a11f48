-- Two stores: what did each take in every quarter of an hour, and how many different items were it?
CREATE STREAM sales
  FROM simulate('retail', hours => 4, seed => 7, files => 4)
  ON ts BY store
  DISORDER SLACK '20 seconds';

SELECT store, window_start, window_end,
       sum(price) / 100 AS taken, count(*) AS items, count(DISTINCT item) AS different
FROM sales [RANGE 15 MINUTES SLIDE 15 MINUTES]
GROUP BY store;
