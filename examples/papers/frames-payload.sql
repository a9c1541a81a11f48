-- Frames, section 2.1: a network stream in periods of roughly equal payload.
SELECT frame_id, frame_start, frame_end, sum(bytes) AS bytes, count(*) AS packets
FROM Packets [FRAME AGGREGATE sum(bytes) >= 4000 WATTR ts]
