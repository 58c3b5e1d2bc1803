-- Written by TestStatements; each statement once, in the order of execution.

SELECT pg_backend_pid();

LISTEN "taskkit_taskkit";

SELECT pg_notify($1, $2);

UNLISTEN *;
