-- Frames, appendix H: periods with more than 30 vehicles a minute.
SELECT segment, frame_start, frame_end, sum(vehicles) AS vehicles
FROM Speeds [FRAME DENSITY sum(vehicles) > 30 PER 1 MINUTE WATTR ts PATTR segment]
