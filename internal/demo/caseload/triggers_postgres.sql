-- One call for each statement and not for each row: a batch of 500 people is one
-- insert more. The functions find the tables in the schema that they were made
-- in, whatever search_path the writer has.
CREATE OR REPLACE FUNCTION caseload_on_status() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO caseload_status_change (person_id, program_id, was, now, task, changed_date)
  SELECT n.person_id, n.program_id, o.status, n.status, n.status_task, clock_timestamp()
  FROM new_rows n JOIN old_rows o ON o.id = n.id WHERE o.status <> n.status;
  INSERT INTO caseload_touch (task, person, action, worker, batch, at)
  SELECT n.status_task, n.person_id, 'program_status', current_setting('application_name') || '/' || pg_backend_pid(), txid_current(), clock_timestamp()
  FROM new_rows n WHERE n.status_task IS NOT NULL;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION caseload_on_watch() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO caseload_touch (task, person, action, worker, batch, at)
  SELECT n.task, n.person_id, 'watch', current_setting('application_name') || '/' || pg_backend_pid(), txid_current(), clock_timestamp()
  FROM new_rows n;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION caseload_on_alert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO caseload_touch (task, person, action, worker, batch, at)
  SELECT n.task, n.person_id, 'early_alert', current_setting('application_name') || '/' || pg_backend_pid(), txid_current(), clock_timestamp()
  FROM new_rows n;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION caseload_on_letter() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  INSERT INTO caseload_touch (task, person, action, worker, batch, at)
  SELECT n.task, n.person_id, 'send_email', current_setting('application_name') || '/' || pg_backend_pid(), txid_current(), clock_timestamp()
  FROM new_rows n;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER caseload_status_set AFTER UPDATE ON caseload_enrolment
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION caseload_on_status();

CREATE OR REPLACE TRIGGER caseload_watch_new AFTER INSERT ON caseload_watch
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION caseload_on_watch();

CREATE OR REPLACE TRIGGER caseload_watch_set AFTER UPDATE ON caseload_watch
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION caseload_on_watch();

CREATE OR REPLACE TRIGGER caseload_alert_new AFTER INSERT ON caseload_alert
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION caseload_on_alert();

CREATE OR REPLACE TRIGGER caseload_outbox_new AFTER INSERT ON caseload_outbox
  REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION caseload_on_letter();
