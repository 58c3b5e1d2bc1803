package oracle

import "strings"

// A column of history that is recorded both as it was and as it became.
type watched struct {
	name string // of oracle_history, after old_ or new_
	pg   string // of the row, where {r} is OLD or NEW
	lite string
	text bool
}

// watchedColumns are what the checker reads of a task's row. The state and the
// spec are recorded as digests: PostgreSQL has md5; on SQLite, which has no such
// function, it is the length with the beginning and the end.
var watchedColumns = []watched{
	{"status", "{r}.workflow_status", "{r}.workflow_status", true},
	{"fence", "{r}.fence", "{r}.fence", false},
	{"seq", "{r}.checkpoint_seq", "{r}.checkpoint_seq", false},
	{"attempts", "{r}.attempts", "{r}.attempts", false},
	{"control", "{r}.control", "{r}.control", true},
	{"process", "coalesce({r}.scheduled_by_process, '')", "coalesce({r}.scheduled_by_process, '')", true},
	{"state", "md5({r}.execution_state::text)", digest("execution_state"), true},
	{"spec", "coalesce(md5({r}.execution_spec::text), '')", digest("execution_spec"), true},
	{"total", "coalesce({r}.items_total, -1)", "coalesce({r}.items_total, -1)", false},
	{"position", "{r}.position", "{r}.position", false},
	{"round", "{r}.round", "{r}.round", false},
	{"done", "{r}.items_done", "{r}.items_done", false},
	{"failed", "{r}.items_failed", "{r}.items_failed", false},
	{"skipped", "{r}.items_skipped", "{r}.items_skipped", false},
	{"started", "({r}.execution_started_date IS NOT NULL)::int", "{r}.execution_started_date IS NOT NULL", false},
	{"stopped", "({r}.workflow_stopped_date IS NOT NULL)::int", "{r}.workflow_stopped_date IS NOT NULL", false},
	{
		"due", "(extract(epoch FROM {r}.not_before) * 1000000)::bigint",
		"CAST(round(unixepoch({r}.not_before, 'subsec') * 1000000) AS integer)", false,
	},
	{"reason", "coalesce({r}.waiting_reason, '')", "coalesce({r}.waiting_reason, '')", true},
	{"partial", "{r}.partial::int", "{r}.partial", false},
}

// identity are the columns that are recorded once. The options are read from the plan in
// the transaction of the change.
var identity = []watched{
	{"task", "{r}.id::text", "{r}.id", true},
	{"parent", "coalesce({r}.parent_id::text, '')", "coalesce({r}.parent_id, '')", true},
	{"kind", "{r}.execution_component_name", "{r}.execution_component_name", true},
	{"unique_key", "coalesce({r}.unique_key, '')", "coalesce({r}.unique_key, '')", true},
	{"idempotency_key", "coalesce({r}.idempotency_key, '')", "coalesce({r}.idempotency_key, '')", true},
	{
		"options", "coalesce((SELECT p.options::text FROM {s}taskkit_task_plan p WHERE p.task_id = {r}.id), '')",
		"coalesce((SELECT p.options FROM {s}taskkit_task_plan p WHERE p.task_id = {r}.id), '')", true,
	},
}

func digest(column string) string {
	c := "coalesce({r}." + column + ", '')"
	return "length(" + c + ") || ':' || substr(" + c + ", 1, 200) || '..' || substr(" + c + ", -200)"
}

// of returns the column's expression for OLD or NEW.
func (w watched) of(d Dialect, row string) string {
	expression := w.pg
	if d == SQLite {
		expression = w.lite
	}
	return strings.ReplaceAll(expression, "{r}", row)
}

// taskColumn is a column of task ids on PostgreSQL. The checker goes through
// them in the order of bytes, which is the same for texts and for ids.
const taskColumn = ` text COLLATE "C"`

// historyTable has no constraint that could refuse what an engine does wrong.
// The id is the order of the changes of one task: it is drawn while the row is
// locked.
func historyTable(d Dialect) string {
	var columns []string
	column := func(name string, text bool) {
		kind := " bigint"
		switch {
		case (name == "task" || name == "parent") && d == Postgres:
			kind = taskColumn
		case text:
			kind = " text"
		}
		columns = append(columns, name+kind)
	}
	if d == Postgres {
		columns = append(columns, "id bigserial")
	} else {
		columns = append(columns, "id integer PRIMARY KEY AUTOINCREMENT")
	}
	column("op", true)
	column("at", false)
	column("txid", false)
	for _, w := range identity {
		column(w.name, w.text)
	}
	for _, w := range watchedColumns {
		column("old_"+w.name, w.text)
		column("new_"+w.name, w.text)
	}
	return "CREATE TABLE {s}oracle_history (\n  " + strings.Join(columns, ",\n  ") + "\n)"
}

// triggers are the tables of what was seen and the triggers that see it.
func triggers(d Dialect) []string {
	id, txid := "id bigserial", "pg_current_xact_id()::text::bigint"
	if d == SQLite {
		id, txid = "id integer PRIMARY KEY AUTOINCREMENT", "0"
	}
	statements := []string{
		historyTable(d),
		"CREATE INDEX oracle_history_task ON {s}oracle_history (task, id)",
		"CREATE INDEX oracle_history_unique ON {s}oracle_history (kind, unique_key, id) WHERE unique_key <> ''",
		"CREATE INDEX oracle_history_idem ON {s}oracle_history (kind, idempotency_key) WHERE idempotency_key <> ''",
		"CREATE INDEX oracle_history_parent ON {s}oracle_history (parent) WHERE op = 'INSERT' AND parent <> ''",
		`CREATE TABLE {s}oracle_process (` + id + `, at bigint, op text, process text,
  heartbeat bigint, dead_after bigint, ended bigint)`,
	}
	for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
		row := "NEW"
		if event == "DELETE" {
			row = "OLD"
		}
		insert := historyInsert(d, event, row, txid)
		heartbeat := "(extract(epoch FROM " + row + ".last_heartbeat_date) * 1000000)::bigint"
		ended := "(" + row + ".ended_date IS NOT NULL)::int"
		if d == SQLite {
			heartbeat = "CAST(round(unixepoch(" + row + ".last_heartbeat_date, 'subsec') * 1000000) AS integer)"
			ended = row + ".ended_date IS NOT NULL"
		}
		process := "INSERT INTO {s}oracle_process (at, op, process, heartbeat, dead_after, ended)\n  VALUES ({now}, '" + event + "', " +
			row + ".id, " + heartbeat + ", " + row + ".dead_after_ms * 1000, " + ended + ");"
		statements = append(statements, trigger(d, "task", event, "taskkit_queued_task", insert)...)
		statements = append(statements, trigger(d, "process", event, "taskkit_task_process", process)...)
	}
	return statements
}

// historyInsert appends one change of a task's row.
func historyInsert(d Dialect, event, row, txid string) string {
	names := []string{"op", "at", "txid"}
	values := []string{"'" + event + "'", "{now}", txid}
	for _, w := range identity {
		names, values = append(names, w.name), append(values, w.of(d, row))
	}
	for _, w := range watchedColumns {
		if event != "INSERT" {
			names, values = append(names, "old_"+w.name), append(values, w.of(d, "OLD"))
		}
		if event != "DELETE" {
			names, values = append(names, "new_"+w.name), append(values, w.of(d, "NEW"))
		}
	}
	return "INSERT INTO {s}oracle_history (" + strings.Join(names, ", ") + ")\n  VALUES (" + strings.Join(values, ", ") + ");"
}

// trigger runs a body after every change of a row.
func trigger(d Dialect, name, event, table, body string) []string {
	name = "oracle_" + name + "_" + strings.ToLower(event)
	if d == SQLite {
		return []string{"CREATE TRIGGER " + name + " AFTER " + event + " ON " + table + " FOR EACH ROW BEGIN\n" + body + "\nEND"}
	}
	return []string{
		"CREATE FUNCTION {s}" + name + "() RETURNS trigger LANGUAGE plpgsql AS $oracle$ BEGIN\n" + body + "\nRETURN NULL;\nEND $oracle$",
		"CREATE TRIGGER " + name + " AFTER " + event + " ON {s}" + table + " FOR EACH ROW EXECUTE FUNCTION {s}" + name + "()",
	}
}
