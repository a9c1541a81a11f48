-- Frames, sections 1 and 2: the routing updates of such a period, from 30 seconds before it.
SELECT router, frame_start, frame_end, count(*) AS updates
FROM Routers [FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES WATTR ts PATTR router]
     FILL Bgp BEFORE 30 SECONDS WHERE kind = 'update'
