-- A freeway over a day: where and when was it slow for ten minutes and more, and how slow?
-- Readings that are missing do not end such a period, and three lanes are one row.
CREATE STREAM traffic
  FROM simulate('freeway', hours => 12, seed => 7, files => 6)
  ON ts BY station
  DISORDER SLACK '1 minute';

CREATE QUERY congestion AS
SELECT station, frame_start, frame_end, round(avg(speed), 1) AS speed
FROM traffic [FRAME THRESHOLD speed < 45 LASTING 10 MINUTES MISSING CARRY TIES MEAN];

SELECT * FROM congestion;
