package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"entgo.io/ent/dialect"

	"taskkit.dev/internal/lifecycle"
)

// A guard is one trigger that refuses what no writer may do. On PostgreSQL the
// WHEN clause is evaluated without a call, so what is legal costs next to
// nothing; and a trigger with columns is not evaluated by statements that do
// not set them. It comes after the change, which its error undoes: before a
// change, PostgreSQL would lock the row and log that for the trigger's sake.
//
// PostgreSQL reads the conditions of CHECKs and of triggers anew for each
// statement, and for one row that took longer than all else. So there the
// conditions are short, what every row must meet is no CHECK, which each
// statement would read, but a guard with columns, and new rows are checked by a
// function for each row, see [postgresInsert].
type guard struct {
	name     string
	table    string
	event    string // INSERT, DELETE, or UPDATE with its columns
	when     string // "" is always
	message  string
	function string // on PostgreSQL; "" is taskkit_refuse
	before   bool   // on PostgreSQL: it comes before the change
}

// taskTable is the table of tasks.
const taskTable = "taskkit_queued_task"

// rules are what every row of the table of tasks must meet: ent's checks by
// their names, and the columns of which they speak. On SQLite owned are the tables whose
// rows belong to a task.
type rules struct {
	checks  map[string]string
	columns []string
	owned   []string
}

// guards returns the triggers of a dialect, made from the table of legal
// transitions and from the rules.
func guards(name string, r rules) string {
	var b strings.Builder
	b.WriteString("-- From internal/lifecycle and ent/schema by internal/cmd/schemaplan: what holds against any writer.\n")
	if name == dialect.Postgres {
		b.WriteString(postgresRefuse + postgresTransition(r) + postgresEventDelete + postgresTargetUpdate + postgresUnapplied)
	}
	all := append([]guard{
		{
			name: "taskkit_guard_sequence", table: taskTable, event: "UPDATE OF checkpoint_seq",
			when:    jump(name),
			message: "checkpoint_seq goes up by one",
		},
		{
			name: "taskkit_guard_immutable", table: taskTable,
			event: "UPDATE OF id, owner_id, run_as_id, execution_component_name, unique_key",
			when: changed(name, "id", "owner_id", "run_as_id", "execution_component_name") + " OR (" + changed(name, "unique_key") + ")" +
				" AND NOT (OLD.unique_key IS NULL AND OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED')",
			message: "id, owner, run-as, kind and unique key of a task never change",
		},
		{
			name: "taskkit_guard_spec", table: taskTable, event: "UPDATE OF execution_spec",
			when: fmt.Sprintf("(%s) AND NOT (OLD.workflow_status = 'QUEUED' AND NEW.workflow_status = 'QUEUED' AND OLD.fence = NEW.fence AND %s = '{}')",
				changedJSON(name, "execution_spec"), asText(name, "NEW.execution_state")),
			message: "the spec of a task changes only while it waits, and with an empty state",
		},
		{
			name: "taskkit_guard_target_update", table: "taskkit_task_target", event: "UPDATE",
			message: "targets are only added, and only while a task finds them",
			// A trigger of PostgreSQL cannot ask in its WHEN.
			function: "taskkit_target_update",
		},
		{
			name: "taskkit_guard_targets", table: "taskkit_task_plan", event: "UPDATE OF targets, targets_field, targets_total",
			when:    "coalesce(OLD.targets, '') <> 'finding' AND (" + changed(name, "targets", "targets_field", "targets_total") + ")",
			message: "a complete set of targets never changes",
		},
		{
			name: "taskkit_guard_ledger_update", table: "taskkit_task_ledger", event: "UPDATE",
			message: "the ledger of a task never changes",
		},
		{
			name: "taskkit_guard_event_update", table: "taskkit_task_event", event: "UPDATE",
			message: "the log of what operators asked is append-only",
		},
		{
			name: "taskkit_guard_event_delete", table: "taskkit_task_event", event: "DELETE",
			message: "the log of what operators asked is append-only",
			// A trigger of PostgreSQL cannot ask in its WHEN.
			function: "taskkit_event_delete",
		},
	}, transitions(name)...)
	if name == dialect.SQLite {
		all = append([]guard{insertGuard}, all...)
		for i := range all {
			switch all[i].name {
			case "taskkit_guard_event_delete":
				all[i].when = "NOT EXISTS (SELECT 1 FROM taskkit_event_prune WHERE OLD.created_date < before_date)"
			case "taskkit_guard_target_update":
				all[i].when = "NOT (" + extendsPage + " AND EXISTS (SELECT 1 FROM taskkit_task_plan" + finding + "))"
			}
		}
	}
	if name == dialect.Postgres {
		all = append(all, r.guards()...)
		b.WriteString(postgresInsert(r))
	}
	for _, g := range all {
		b.WriteString("\n" + g.sql(name))
	}
	if name == dialect.SQLite {
		b.WriteString("\n" + foreignKeys(r.owned))
	}
	return b.String()
}

// insertGuard refuses new tasks that are not new.
var insertGuard = guard{
	name: "taskkit_guard_insert", table: taskTable, event: "INSERT",
	when: "NEW.workflow_status <> 'QUEUED' OR " + numbers("NEW.") + " <> 0 OR NEW.position < 0" +
		" OR NEW.scheduled_by_process IS NOT NULL OR NEW.workflow_stopped_date IS NOT NULL",
	message: "a new task is QUEUED, with fence, checkpoint_seq and all counts of items 0, neither held nor stopped",
}

// numbers is 0 when every number of a new task is, and negative when one is. The
// position in a list is not among them: a task that continues another begins there.
func numbers(row string) string {
	columns := []string{"fence", "checkpoint_seq", "attempts", "round", "items_done", "items_failed", "items_skipped"}
	return "(" + row + strings.Join(columns, " | "+row) + ")"
}

// jump is the condition that checkpoint_seq neither stays nor goes up by one.
func jump(name string) string {
	if name == dialect.Postgres {
		return "NEW.checkpoint_seq - OLD.checkpoint_seq <> ALL ('{0,1}'::bigint[])"
	}
	return "NEW.checkpoint_seq <> OLD.checkpoint_seq AND NEW.checkpoint_seq <> OLD.checkpoint_seq + 1"
}

// transitions are the guards of the table of transitions.
//
// On PostgreSQL they are two, and both let pass at a glance what happens all the
// time: a claim, and the end of a task that has begun. Whether a task was held is
// known by its process, since taskkit_held held. All else is looked up by a
// function, which checks the rules that tie other columns to the status too: as
// conditions of triggers of their own, each statement would read them.
func transitions(name string) []guard {
	const message = "not a legal transition of a task"
	g := guard{name: "taskkit_guard_transition", table: taskTable, message: message}
	if name != dialect.Postgres {
		g.event, g.when = "UPDATE OF workflow_status, fence", illegalTransition(name)
		return []guard{g}
	}
	g.event = "UPDATE OF workflow_status, scheduled_by_process, execution_started_date, workflow_stopped_date"
	g.function = "taskkit_transition"
	g.when = "NEW.fence = OLD.fence AND NOT (OLD.scheduled_by_process IS NOT NULL AND NEW.scheduled_by_process IS NULL\n" +
		"    AND NEW.execution_started_date IS NOT NULL AND NEW.workflow_stopped_date IS NOT NULL\n" +
		"    AND " + among(name, "NEW.workflow_status", terminal()) + ")"
	claim := guard{name: "taskkit_guard_claim", table: taskTable, event: "UPDATE OF fence", message: message}
	var legal []string
	for _, e := range lifecycle.Edges() {
		if e.Claimed {
			legal = append(legal, fmt.Sprintf("OLD.workflow_status = '%s' AND NEW.workflow_status = '%s'", e.From, e.To))
		}
	}
	claim.when = "NEW.fence <> OLD.fence AND NOT (NEW.fence = OLD.fence + 1 AND " + strings.Join(legal, " OR ") +
		"\n    AND NEW.scheduled_by_process IS NOT NULL AND NEW.workflow_stopped_date IS NULL)"
	return []guard{claim, g}
}

// terminal are the statuses of a task that has ended.
func terminal() (found []string) {
	for _, s := range lifecycle.Statuses() {
		if s.Terminal() {
			found = append(found, string(s))
		}
	}
	return found
}

// counts is the rule that no number is negative. On PostgreSQL its guard asks only
// of those that no other guard counts: fence and checkpoint_seq begin at 0 and go up
// by one.
const counts = "taskkit_counts"

// metByNew are the rules that a row meets which taskkit_guard_insert lets in.
var metByNew = slices.Concat(ofStatus, []string{counts})

// ofStatus are the rules that taskkit_transition checks, in this order.
var ofStatus = []string{"taskkit_held", "taskkit_started", "taskkit_status", "taskkit_stopped"}

// guards are the rules for PostgreSQL that are triggers of their own.
func (r rules) guards() []guard {
	var gs []guard
	for _, c := range slices.Sorted(maps.Keys(r.checks)) {
		if slices.Contains(ofStatus, c) {
			continue
		}
		condition, columns := r.ofNew(c)
		when := "NOT (" + condition + ")"
		if c == counts {
			columns = slices.DeleteFunc(columns, func(c string) bool { return c == "fence" || c == "checkpoint_seq" })
			when = "least(NEW." + strings.Join(columns, ", NEW.") + ") < 0"
		}
		gs = append(gs, guard{name: c, table: taskTable, event: "UPDATE OF " + strings.Join(columns, ", "), when: when, message: r.message(c)})
	}
	return gs
}

// ofNew is a rule as a condition on NEW, and the columns of which it speaks.
func (r rules) ofNew(check string) (condition string, columns []string) {
	condition = word.ReplaceAllStringFunc(r.checks[check], func(w string) string {
		if !slices.Contains(r.columns, w) {
			return w
		}
		if !slices.Contains(columns, w) {
			columns = append(columns, w)
		}
		return "NEW." + w
	})
	return short(dialect.Postgres, condition), columns
}

// message says which rule a row does not meet, within quotes.
func (r rules) message(check string) string {
	return "every task must meet: " + strings.ReplaceAll(r.checks[check], "'", "''")
}

var (
	// word matches a name, and text in quotes, which is none.
	word = regexp.MustCompile(`'[^']*'|\b[a-z_]+\b`)
	// list matches the words that a column is one of.
	list = regexp.MustCompile(`([\w.]+) IN \(('[^)]*')\)`)
)

// short writes the lists of words of a condition as [among] does.
func short(name, condition string) string {
	return list.ReplaceAllStringFunc(condition, func(m string) string {
		parts := list.FindStringSubmatch(m)
		words := strings.Split(strings.ReplaceAll(parts[2], "'", ""), ", ")
		for i, w := range words {
			if w == "" && name == dialect.Postgres {
				words[i] = `""`
			}
		}
		return among(name, parts[1], words)
	})
}

// postgresRefuse is the function behind nearly all triggers on PostgreSQL. It is
// called for illegal changes only.
var postgresRefuse = `
CREATE FUNCTION "{schema}"."taskkit_refuse"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
` + postgresRaise + `
END
$$;
`

var postgresRaise = raise("TG_ARGV[0]", "TG_NAME")

// raise refuses a change.
func raise(message, constraint string) string {
	return `  RAISE EXCEPTION 'taskkit: %', ` + message + ` USING
    ERRCODE = 'check_violation',
    SCHEMA = TG_TABLE_SCHEMA,
    TABLE = TG_TABLE_NAME,
    CONSTRAINT = ` + constraint + `,
    DETAIL = format('%s of row %s', TG_OP, coalesce(to_jsonb(OLD) ->> 'id', to_jsonb(NEW) ->> 'id'));`
}

// postgresTransition is the function that knows the table of transitions, and what
// a status demands of other columns.
func postgresTransition(r rules) string {
	var text strings.Builder
	text.WriteString(`
CREATE FUNCTION "{schema}"."taskkit_transition"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF ` + illegalTransition(dialect.Postgres) + ` THEN
` + postgresRaise + `
END IF;
`)
	for _, c := range ofStatus {
		condition, _ := r.ofNew(c)
		text.WriteString("IF NOT (" + condition + ") THEN\n" + raise("'"+r.message(c)+"'", "'"+c+"'") + "\nEND IF;\n")
	}
	text.WriteString(`RETURN NULL;
END
$$;
`)
	return text.String()
}

// postgresEventDelete lets events go that a cleaner has named, and no others.
var postgresEventDelete = `
CREATE FUNCTION "{schema}"."taskkit_event_delete"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NOT EXISTS (SELECT 1 FROM "{schema}"."taskkit_event_prune" WHERE OLD.created_date < before_date) THEN
` + postgresRaise + `
END IF;
RETURN NULL;
END
$$;
`

// postgresUnapplied is called for the last write of a batch that has changed nothing: it removes a task that ends and
// is to be deleted, or raises an error, so that the COMMIT that follows does not commit. Its statement sees what was
// committed after that write began.
var postgresUnapplied = `
CREATE FUNCTION "{schema}"."taskkit_unapplied"(task uuid, held bigint, seq bigint, ends boolean) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF ends THEN
  DELETE FROM "{schema}"."taskkit_queued_task" q
  WHERE q.id = task AND q.fence = held AND q.checkpoint_seq = seq AND q.workflow_status IN ('SCHEDULING', 'EXECUTING') AND q.control = 'DELETE';
  IF FOUND THEN
    RETURN 'DELETE';
  END IF;
END IF;
RAISE EXCEPTION 'taskkit: task % is held by another or has ended', task USING ERRCODE = 'TK001';
END
$$;
`

// extendsPage is the condition that a page of targets has those that it had, and may
// have more.
const extendsPage = `NEW.task_id = OLD.task_id AND NEW.page = OLD.page
      AND substr(NEW.keys, 1, length(OLD.keys) - 1) = substr(OLD.keys, 1, length(OLD.keys) - 1)`

// finding is the condition that the plan of a page is of a task that finds its targets.
const finding = ` WHERE task_id = NEW.task_id AND targets = 'finding'`

// postgresTargetUpdate lets a page get more targets while its task finds them.
var postgresTargetUpdate = `
CREATE FUNCTION "{schema}"."taskkit_target_update"() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
IF NOT (` + extendsPage + `
      AND EXISTS (SELECT 1 FROM "{schema}"."taskkit_task_plan"` + finding + `)) THEN
` + postgresRaise + `
END IF;
RETURN NULL;
END
$$;
`

// sql returns the statement that creates the trigger.
func (g guard) sql(name string) string {
	when := ""
	if name == dialect.Postgres {
		if g.when != "" {
			when = "\n  WHEN (" + g.when + ")"
		}
		at := "AFTER"
		if g.before {
			at = "BEFORE"
		}
		return fmt.Sprintf(`CREATE TRIGGER "%s" %s %s ON "{schema}"."%s" FOR EACH ROW%s
  EXECUTE FUNCTION "{schema}"."%s"('%s');
`, g.name, at, g.event, g.table, when, cmp.Or(g.function, "taskkit_refuse"), g.message)
	}
	if g.when != "" {
		when = "\n  WHEN " + g.when
	}
	return fmt.Sprintf("CREATE TRIGGER `%s` AFTER %s ON `%s` FOR EACH ROW%s\nBEGIN\n  SELECT RAISE(ABORT, 'taskkit: %s');\nEND;\n",
		g.name, g.event, g.table, when, g.message)
}

// step is a change of status, as in "QUEUED>SCHEDULING".
const step = "OLD.workflow_status || '>' || NEW.workflow_status"

// steps are the edges of a kind.
func steps(which func(lifecycle.Edge) bool) (found []string) {
	for _, e := range lifecycle.Edges() {
		if which(e) {
			found = append(found, string(e.From)+">"+string(e.To))
		}
	}
	return found
}

func isClaim(e lifecycle.Edge) bool   { return e.Claimed }
func isStart(e lifecycle.Edge) bool   { return e.Started }
func isPartial(e lifecycle.Edge) bool { return e.Partial }
func isPlain(e lifecycle.Edge) bool   { return !e.Claimed && !e.Started && !e.Partial }

// illegalTransition returns the condition on OLD and NEW that no edge of the
// transition table covers. The fence changes with a claim and with nothing
// else.
func illegalTransition(name string) string {
	return fmt.Sprintf(`NOT (NEW.fence = OLD.fence AND (OLD.workflow_status = NEW.workflow_status
      OR %s
      OR NEW.execution_started_date IS NOT NULL AND %s
      OR NEW.partial AND %s)
    OR NEW.fence = OLD.fence + 1 AND %s)`,
		among(name, step, steps(isPlain)), among(name, step, steps(isStart)),
		among(name, step, steps(isPartial)), among(name, step, steps(isClaim)))
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

// asText is a column of JSON as text.
func asText(name, column string) string {
	if name == dialect.Postgres {
		return column + "::text"
	}
	return column
}

// changedJSON is changed for a column of JSON, which PostgreSQL compares as
// text only.
func changedJSON(name, column string) string {
	if name == dialect.SQLite {
		return changed(name, column)
	}
	return fmt.Sprintf("OLD.%s::text IS DISTINCT FROM NEW.%s::text", column, column)
}
