-- Freezers that are too warm: for how long, and how warm did they get? A freezer defrosts some
-- times a day and is then warm for some minutes; a door that stands open makes it warm for longer.
CREATE STREAM readings
  FROM simulate('freezer', 'readings', days => 1, seed => 7, files => 4)
  ON ts BY freezer
  DISORDER SLACK '150 seconds' SCHEDULE '1 minute';

SELECT freezer, frame_start, frame_end, max(temperature) AS warmest, count(*) AS minutes
FROM readings [FRAME THRESHOLD temperature > 32 LASTING 5 MINUTES MISSING CARRY];
