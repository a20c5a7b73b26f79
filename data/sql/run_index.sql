-- What pages filter and group by: one narrow row a sample, no long texts.
SELECT
    row,
    question_id,
    repeat,
    coalesce(conversation_id, question_id) AS cluster,
    query_type,
    answerable,
    context_mode,
    length(question) AS question_length,
    tags
FROM read_parquet(?)
ORDER BY row
