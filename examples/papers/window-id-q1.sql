-- Window-ID, section 2: the least and greatest speed of each segment over the past 5 minutes,
-- every minute.
SELECT seg-id, max(speed), min(speed)
FROM Traffic [RANGE 300 seconds
              SLIDE 60 seconds
              WATTR ts]
GROUP BY seg-id
