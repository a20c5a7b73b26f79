SELECT * FROM read_parquet(?) ORDER BY row
