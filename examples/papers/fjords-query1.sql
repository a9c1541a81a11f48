-- Fjords, Query 1: the average speed over a window, of segments that the user knows.
SELECT AVG(s.speed, INTERVAL '5' MINUTES)
FROM sensorReadings AS s
WHERE s.segment IN ('east', 'west')
