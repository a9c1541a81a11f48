-- PSoup, section 5: an aggregate over the same window, whenever a row comes.
SELECT window_end AS now, max(D_s.b) AS greatest
FROM Data_Stream D_s
WHERE D_s.a < 5
BEGIN (NOW - 10) END (NOW) ON at
