-- Written by TestStatements; each statement once, in the order of execution.

BEGIN;

WITH limits AS MATERIALIZED (
  SELECT set_config('idle_in_transaction_session_timeout', $4, true),
    set_config('statement_timeout', $5, true), set_config('lock_timeout', $6, true)
)
SELECT coalesce((SELECT '' FROM limits, "taskkit".taskkit_queued_task q
WHERE q.id = $1 AND q.fence = $2 AND q.checkpoint_seq = $3 AND q.workflow_status || '' IN ('SCHEDULING',
    'EXECUTING')
FOR KEY SHARE OF q), "taskkit".taskkit_unapplied($1, $2, $3, false));

SAVEPOINT s;
