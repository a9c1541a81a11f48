-- Frames, section 2: slow traffic beside the speeds of the same hours a week before.
SELECT segment, frame_start, frame_end, avg(today.speed) AS speed, avg(past.speed) AS week_ago
FROM Speeds [FRAME THRESHOLD speed < 40 LASTING 10 MINUTES WATTR ts PATTR segment] AS today
     FILL History AS past SHIFT -7 DAYS
