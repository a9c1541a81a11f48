-- Frames, section 1: periods of at least 5 minutes in which a router lost more than 0.3%.
SELECT router, frame_start, frame_end, avg(loss_rate) AS loss_rate
FROM Routers [FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router]
