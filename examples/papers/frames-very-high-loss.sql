-- Frames, section 2: such a period filled from its own stream, with reports of very high loss.
SELECT router, frame_start, count(*) AS reports
FROM Routers [FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router]
     FILL Routers AS r WHERE loss_rate > 1.5
