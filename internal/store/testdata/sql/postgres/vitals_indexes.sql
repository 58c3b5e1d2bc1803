-- Written by TestStatements; each statement once, in the order of execution.

SELECT c.relname::text, i.indisvalid AND i.indisready
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text::name ORDER BY c.relname;
