-- Frames, section 4.3: a frame for every stretch between two multiples of 10 degrees.
SELECT frame_start, frame_end, floor(min(temperature) / 10) AS decade
FROM Freezer [FRAME BOUNDARY temperature EVERY 10 WATTR ts]
