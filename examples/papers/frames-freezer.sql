-- Frames, section 3, example 2: more than a minute above 32 degrees, and how often the door opened.
SELECT frame_start, frame_end, count(*) AS openings
FROM Freezer [FRAME THRESHOLD temperature > 32 LASTING 1 MINUTE READINGS UNTIL NEXT WATTR ts]
     FILL Doors BEFORE 1 MINUTE WHERE event = 'open'
