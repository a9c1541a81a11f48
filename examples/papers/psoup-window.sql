-- PSoup, section 2: the rows of the last 10 seconds, when asked.
SELECT *
FROM Data_Stream D_s
WHERE (D_s.a < 5 AND D_s.b > 2)
BEGIN (NOW - 10)
END (NOW)
ON at
