-- The text of each gold document that some list of the run holds; an id with several texts names none of them.
WITH samples AS (
    SELECT relevant, retrieved, candidates FROM read_parquet($samples)
),
gold AS (
    SELECT DISTINCT unnest(relevant).id AS id FROM samples
),
listed AS (
    SELECT unnest(retrieved) AS document FROM samples
    UNION ALL
    SELECT unnest(candidates) FROM samples
)
SELECT listed.document.id AS id, min(listed.document.text) AS text
FROM listed SEMI JOIN gold ON listed.document.id = gold.id
WHERE listed.document.text <> ''
GROUP BY listed.document.id
HAVING min(listed.document.text) = max(listed.document.text)
ORDER BY id
