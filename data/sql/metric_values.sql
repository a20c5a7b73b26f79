-- The values of one metric from every source, in row order.
SELECT source, row, value, status
FROM read_parquet(?)
WHERE metric = ?
ORDER BY source, row
