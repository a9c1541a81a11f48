-- Fjords, Query 2: incidents of the last hour on segments that were slow. As printed, incidents and
-- readings are not joined; the equality of segments stands in the subquery only.
SELECT slow.speed, i.description, slow.window_end
FROM incidents AS i
JOIN (SELECT s.segment, window_end, AVG(s.speed, INTERVAL '5' MINUTES) AS speed
      FROM sensorReadings AS s
      WHERE s.segment IN ('east', 'west')
      GROUP BY s.segment
      HAVING speed < 50) AS slow
  ON i.segment = slow.segment
WHERE i.time >= slow.window_end - INTERVAL '1' HOUR AND i.time < slow.window_end
