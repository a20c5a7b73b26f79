-- Rows whose question, answer or reference holds the text, whatever its case.
SELECT row
FROM read_parquet($samples)
WHERE contains(lower(question), lower($text))
   OR contains(lower(coalesce(answer, '')), lower($text))
   OR contains(lower(coalesce(reference_answer, '')), lower($text))
   OR contains(lower(question_id), lower($text))
