-- The short texts of the rows of one page.
SELECT row, question_id, repeat, question, answer, query_type, len(history) AS turns
FROM read_parquet($samples)
WHERE row IN (SELECT unnest($rows))
