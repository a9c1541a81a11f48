-- Frames, section 4.3: stretches in which the temperature moves by less than 3 degrees.
SELECT frame_start, frame_end, min(temperature) AS low, max(temperature) AS high
FROM Freezer [FRAME DELTA temperature SIZE 3 WATTR ts]
