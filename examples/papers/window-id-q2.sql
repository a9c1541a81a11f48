-- Window-ID, section 3.2: how many of the past 1000 rows come from each segment, every 10 rows.
SELECT seg-id, count(*)
FROM Traffic [RANGE 1000 rows
              SLIDE 10 rows
              WATTR row-num]
GROUP BY seg-id
