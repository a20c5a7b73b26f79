SELECT DISTINCT metric, source FROM read_parquet(?) ORDER BY ALL
