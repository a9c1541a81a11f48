-- Frames, appendix C: the temperature rises over at least three readings.
SELECT frame_start, frame_end, count(*) AS readings
FROM Freezer [FRAME TREND temperature INCREASING HOLDING AT LEAST 3 ROWS WATTR ts]
