package main

import (
	"fmt"
	"strings"

	"entgo.io/ent/dialect"

	"taskkit.dev/internal/workflow"
)

// A guard is one trigger that refuses what no writer may do. On PostgreSQL the
// WHEN clause is evaluated without a call, so what is legal costs next to
// nothing; and a trigger with columns is not looked at by statements that do
// not set them. It comes after the change, which its error undoes: before a
// change, PostgreSQL would lock the row and log that for the trigger's sake.
type guard struct {
	name    string
	table   string
	event   string // INSERT, DELETE, or UPDATE with its columns
	when    string // "" is always
	message string
}

// guards returns the triggers of a dialect, made from the table of legal
// transitions.
func guards(name string) string {
	var b strings.Builder
	b.WriteString("-- From internal/workflow by internal/schemaplan: what holds against any writer.\n")
	if name == dialect.Postgres {
		b.WriteString(postgresRefuse)
	}
	for _, g := range []guard{
		{
			"taskkit_guard_insert", "taskkit_queued_task", "INSERT",
			"NEW.workflow_status <> 'QUEUED' OR NEW.fence <> 0 OR NEW.checkpoint_seq <> 0",
			"a new task is QUEUED, with fence and checkpoint_seq 0",
		},
		{
			"taskkit_guard_transition", "taskkit_queued_task", "UPDATE OF workflow_status, fence",
			illegalTransition(name), "not a legal transition of a task",
		},
		{
			"taskkit_guard_sequence", "taskkit_queued_task", "UPDATE OF checkpoint_seq",
			"NEW.checkpoint_seq <> OLD.checkpoint_seq AND NEW.checkpoint_seq <> OLD.checkpoint_seq + 1",
			"checkpoint_seq goes up by one",
		},
		{
			"taskkit_guard_immutable", "taskkit_queued_task",
			"UPDATE OF id, owner_id, run_as_id, execution_component_name, unique_key",
			changed(name, "id", "owner_id", "run_as_id", "execution_component_name", "unique_key"),
			"id, owner, run-as, kind and unique key of a task never change",
		},
		{
			"taskkit_guard_spec", "taskkit_queued_task", "UPDATE OF execution_spec",
			fmt.Sprintf("(%s) AND NOT (OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED' AND OLD.fence = 0 AND NEW.fence = 0)",
				changedJSON(name, "execution_spec")),
			"the spec of a task never changes once it has been claimed",
		},
		{"taskkit_guard_event_update", "taskkit_task_event", "UPDATE", "", "the log of what operators asked is append-only"},
		{"taskkit_guard_event_delete", "taskkit_task_event", "DELETE", "", "the log of what operators asked is append-only"},
	} {
		b.WriteString("\n" + g.sql(name))
	}
	return b.String()
}

// postgresRefuse is the function behind all triggers on PostgreSQL. It is called
// for illegal changes only.
const postgresRefuse = `
-- +goose StatementBegin
CREATE FUNCTION "{schema}"."taskkit_refuse"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION 'taskkit: %', TG_ARGV[0] USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = TG_NAME,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));
END
$$;
-- +goose StatementEnd
`

// sql returns the statement that creates the trigger.
func (g guard) sql(name string) string {
	when := ""
	if name == dialect.Postgres {
		if g.when != "" {
			when = "\n  WHEN (" + g.when + ")"
		}
		return fmt.Sprintf(`CREATE TRIGGER "%s" AFTER %s ON "{schema}"."%s" FOR EACH ROW%s
  EXECUTE FUNCTION "{schema}"."taskkit_refuse"('%s');
`, g.name, g.event, g.table, when, g.message)
	}
	if g.when != "" {
		when = "\n  WHEN " + g.when
	}
	return fmt.Sprintf("-- +goose StatementBegin\nCREATE TRIGGER `%s` AFTER %s ON `%s` FOR EACH ROW%s\nBEGIN\n  SELECT RAISE(ABORT, 'taskkit: %s');\nEND;\n-- +goose StatementEnd\n",
		g.name, g.event, g.table, when, g.message)
}

// illegalTransition returns the condition on OLD and NEW that no edge of the
// transition table covers. The fence changes with a claim and with nothing
// else.
//
// It is short, since PostgreSQL reads it anew for each statement that makes a
// transition: the edges are grouped by what else they ask.
func illegalTransition(name string) string {
	var plain, started, requested, claimed []string
	for _, e := range workflow.Edges() {
		to := &plain
		switch {
		case e.Claimed:
			to = &claimed
		case e.Started:
			to = &started
		case e.Requested:
			to = &requested
		}
		*to = append(*to, string(e.From)+">"+string(e.To))
	}
	step := "OLD.workflow_status || '>' || NEW.workflow_status"
	return fmt.Sprintf(`NOT (NEW.fence = OLD.fence AND (OLD.workflow_status = NEW.workflow_status
      OR %s
      OR NEW.execution_started_date IS NOT NULL AND %s
      OR NEW.control = 'STOP' AND %s)
    OR NEW.fence = OLD.fence + 1 AND %s)`,
		among(name, step, plain), among(name, step, started), among(name, step, requested), among(name, step, claimed))
}

// among returns the condition that an expression is one of some words. On
// PostgreSQL they are one constant; a list would be made into one for each
// statement. SQLite would make a table of a list of more than two, for each
// execution.
func among(name, expr string, words []string) string {
	switch {
	case name == dialect.Postgres:
		return expr + " = ANY ('{" + strings.Join(words, ",") + "}'::text[])"
	case len(words) > 2:
		return "CASE " + expr + " WHEN '" + strings.Join(words, "' THEN 1 WHEN '") + "' THEN 1 ELSE 0 END"
	default:
		return expr + " IN ('" + strings.Join(words, "', '") + "')"
	}
}

// changed returns the condition that one of the columns differs.
func changed(name string, columns ...string) string {
	op := "IS DISTINCT FROM"
	if name == dialect.SQLite {
		op = "IS NOT"
	}
	var cs []string
	for _, c := range columns {
		cs = append(cs, fmt.Sprintf("OLD.%s %s NEW.%s", c, op, c))
	}
	return strings.Join(cs, " OR ")
}

// changedJSON is changed for a column of JSON, which PostgreSQL compares as
// text only.
func changedJSON(name, column string) string {
	if name == dialect.SQLite {
		return changed(name, column)
	}
	return fmt.Sprintf("OLD.%s::text IS DISTINCT FROM NEW.%s::text", column, column)
}
