-- Window-ID, section 3.2: as Q3, but a window ends at every fifth row by ts.
SELECT seg-id, count(*)
FROM Traffic [RANGE 300 seconds
              RATTR ts
              SLIDE 5 rows
              SATTR rank(ts)]
