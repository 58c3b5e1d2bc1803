package sqlite

import (
	"strings"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// applyPlan is what the statements for a write depend on: a column that a write
// leaves as it is costs nothing. There are few plans, so that each is prepared once a connection.
type applyPlan struct {
	to         lifecycle.Status // "": the task is EXECUTING and stays so
	checkpoint bool
	detail     bool // the write has a StatusDetail
	at         bool // the time is a parameter
}

func newApplyPlan(w *store.Write, now string) applyPlan {
	l := applyPlan{to: w.To, checkpoint: w.Checkpoint, detail: w.StatusDetail != "", at: now != ""}
	if w.IsCheckpoint() {
		l.to = ""
	}
	return l
}

// applyStatements are the statements that make a write.
type applyStatements struct {
	free   string // matches only a task without a pending request
	ending string // ends a task and clears its request
	asking string // returns the pending request, which costs half as much again
}

// statements returns the statements of a plan, whose caller has the turn to write. They have the guard,
// the columns and the meaning of the statement on PostgreSQL. There is
// no list of more than two words: SQLite makes a table of it each time. Nil: no lease holder may set the status.
func (s *Store) statements(l applyPlan) *applyStatements {
	if known, ok := s.applies[l]; ok {
		return known
	}
	if l.to != "" && len(sources(l.to)) == 0 {
		s.applies[l] = nil
		return nil
	}
	clearing := []string{"control = ''", "control_by = NULL", "control_reason = NULL"}
	made := &applyStatements{
		free:   l.text(nil) + " AND control = ''",
		ending: l.text(clearing),
		asking: l.text(nil) + " RETURNING control",
	}
	s.applies[l] = made
	return made
}

// text is the statement that also sets some columns.
func (l applyPlan) text(further []string) string {
	guard := "workflow_status = '" + string(lifecycle.Executing) + "'"
	var set []string
	if l.to != "" {
		guard = "workflow_status IN ('" + strings.Join(sources(l.to), "', '") + "')"
		set = l.status()
	}
	if l.checkpoint {
		set = append(set,
			"checkpoint_seq = checkpoint_seq + 1",
			"spec_revision = CASE WHEN $4 <> codec_revision THEN coalesce(spec_revision, codec_revision) ELSE spec_revision END",
			"codec_revision = $4",
			"execution_state = coalesce(nullif($5, ''), execution_state)",
			"items_total = nullif(max($6, -1), -1)", "position = $7", "round = $17", "deferred = $18", "items_done = $8", "items_failed = $9", "items_skipped = $10",
		)
	}
	set = append(append(set, "attempts = $11", "modified_date = {now}", "modified_by = run_as_id"), further...)
	// To compute the time for each write adds a tenth to the cost.
	now := dialect.SQLiteNow
	if l.at {
		now = "$16"
	}
	text := "UPDATE taskkit_queued_task SET\n  " + strings.Join(set, ",\n  ") + "\nWHERE id = $1 AND fence = $2 AND checkpoint_seq = $3 AND " + guard
	return strings.ReplaceAll(text, "{now}", now)
}

// status sets the status and what goes with it.
func (l applyPlan) status() []string {
	set := []string{"workflow_status = '" + string(l.to) + "'", "partial = $15"}
	if l.detail {
		set = append(set, "workflow_status_desc = coalesce(nullif($13, ''), workflow_status_desc)")
	}
	if l.to != lifecycle.Queued && l.to != lifecycle.Error || l.checkpoint {
		set = append(set, "execution_started_date = coalesce(execution_started_date, {now})")
	}
	if l.to != lifecycle.Executing {
		set = append(set, "scheduled_by_process = NULL")
	}
	if l.to.Terminal() {
		set = append(set, "workflow_stopped_date = {now}")
	}
	stalled := "stalled AND $11 < attempts"
	if l.checkpoint {
		stalled = "0"
	}
	if l.to != lifecycle.Queued {
		if l.to != lifecycle.Executing {
			set = append(set, "stalled = "+stalled)
		}
		return append(set, "waiting_reason = NULL")
	}
	return append(set,
		"waiting_reason = nullif($14, '')",
		"stalled = "+stalled+" OR control IN ('STOP', 'DELETE')",
		`not_before = CASE WHEN control IN ('STOP', 'DELETE') AND $14 <> '`+lifecycle.ReasonEndingChildren+`' THEN {now}
    WHEN typeof($12) = 'text' THEN $12
    WHEN $12 < 0 THEN not_before
    ELSE strftime('%Y-%m-%d %H:%M:%f', {now}, printf('+%.3f seconds', $12 / 1000.0)) END`)
}

// sources are the statuses from which a lease holder may set a status.
func sources(to lifecycle.Status) (from []string) {
	for _, m := range lifecycle.LeaseWrites() {
		if m.To == to {
			from = append(from, string(m.From))
		}
	}
	return from
}
