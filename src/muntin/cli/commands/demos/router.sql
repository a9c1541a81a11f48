-- Why do routers lose packets? Five minutes and more of high loss, and the routing messages that
-- came in them or up to 30 seconds before: a burst of updates comes before the loss it causes.
CREATE STREAM losses
  FROM simulate('router', 'losses', seed => 7, files => 4)
  ON ts BY router
  DISORDER SLACK '30 seconds' SCHEDULE '10 seconds';

CREATE STREAM messages
  FROM simulate('router', 'messages', seed => 7, files => 4)
  ON at BY router_id
  DISORDER SLACK '30 seconds';

SELECT router, frame_start, frame_end,
       count(*) FILTER (WHERE kind = 'update') AS updates,
       count(*) FILTER (WHERE kind = 'withdraw') AS withdrawn
FROM losses [FRAME THRESHOLD loss_rate > 0.3 LASTING 5 MINUTES MISSING CARRY]
     FILL messages BEFORE 30 SECONDS;
