SELECT * FROM read_parquet($samples) WHERE row IN (SELECT unnest($rows)) ORDER BY row
