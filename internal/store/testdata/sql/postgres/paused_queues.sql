-- Written by TestStatements; each statement once, in the order of execution.

SELECT name, paused, paused_by, coalesce(paused_reason, ''), paused_date,
  resumed_by, coalesce(resumed_reason, ''), resumed_date,
      clock_timestamp() FROM "taskkit".taskkit_queue ORDER BY name;
