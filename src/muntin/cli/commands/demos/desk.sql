-- Six people ask different questions of one freeway, and it is read once.

CREATE QUERY speeds OWNER 'ada' TAGS ('speed') AS
SELECT station, window_end, avg(speed) AS mph
FROM traffic [RANGE 5 MINUTES SLIDE 1 MINUTE]
WHERE lane < 3
GROUP BY station;

CREATE QUERY vehicles OWNER 'bo' TAGS ('volume') AS
SELECT station, window_end, sum(volume) AS vehicles
FROM traffic [TUMBLING 10 MINUTES]
GROUP BY station;

CREATE QUERY crawling OWNER 'chen' TAGS ('speed') AS
SELECT ts, station, detector, speed
FROM traffic
WHERE speed < 12 AND volume > 0;

CREATE QUERY jams OWNER 'dina' TAGS ('speed', 'frames') AS
SELECT station, frame_start, frame_end, min(speed) AS slowest
FROM traffic [FRAME THRESHOLD speed < 40 LASTING 3 MINUTES TIES MEAN];

CREATE QUERY fullest OWNER 'eve' TAGS ('volume') AS
SELECT lane, window_end, max(occupancy) AS fullest
FROM traffic [RANGE 15 MINUTES SLIDE 5 MINUTES]
GROUP BY lane;

CREATE QUERY recent OWNER 'finn' TAGS ('speed') AS
SELECT station, window_end, on_end, avg(speed) AS mph
FROM traffic [ROWS 30 SLIDE 15 TIEBREAK detector]
GROUP BY station;
