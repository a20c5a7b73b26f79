SELECT * FROM read_parquet($samples) WHERE row = $row
