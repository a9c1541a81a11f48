-- Window-ID, section 3.2: as Q2, but every segment has windows of its own 1000 rows.
SELECT seg-id, count(*)
FROM Traffic [RANGE 1000 rows
              SLIDE 10 rows
              WATTR row-num
              PATTR seg-id]
