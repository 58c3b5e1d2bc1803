CREATE TRIGGER IF NOT EXISTS caseload_status_set AFTER UPDATE OF status, status_task ON caseload_enrolment
WHEN NEW.status_task IS NOT NULL BEGIN
  INSERT INTO caseload_touch (task, person, action, at)
  VALUES (NEW.status_task, NEW.person_id, 'program_status', strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;

CREATE TRIGGER IF NOT EXISTS caseload_status_history AFTER UPDATE OF status ON caseload_enrolment
WHEN OLD.status <> NEW.status BEGIN
  INSERT INTO caseload_status_change (person_id, program_id, was, now, task, changed_date)
  VALUES (NEW.person_id, NEW.program_id, OLD.status, NEW.status, NEW.status_task, strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;

CREATE TRIGGER IF NOT EXISTS caseload_watch_new AFTER INSERT ON caseload_watch BEGIN
  INSERT INTO caseload_touch (task, person, action, at)
  VALUES (NEW.task, NEW.person_id, 'watch', strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;

CREATE TRIGGER IF NOT EXISTS caseload_watch_set AFTER UPDATE ON caseload_watch BEGIN
  INSERT INTO caseload_touch (task, person, action, at)
  VALUES (NEW.task, NEW.person_id, 'watch', strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;

CREATE TRIGGER IF NOT EXISTS caseload_alert_new AFTER INSERT ON caseload_alert BEGIN
  INSERT INTO caseload_touch (task, person, action, at)
  VALUES (NEW.task, NEW.person_id, 'early_alert', strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;

CREATE TRIGGER IF NOT EXISTS caseload_outbox_new AFTER INSERT ON caseload_outbox BEGIN
  INSERT INTO caseload_touch (task, person, action, at)
  VALUES (NEW.task, NEW.person_id, 'send_email', strftime('%Y-%m-%d %H:%M:%f', 'now'));
END;
