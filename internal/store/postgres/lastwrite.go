package postgres

import (
	"fmt"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// lastQuery is the last write of a batch, which is sent together with COMMIT. When it changes nothing, the function
// removes a task that ends and is to be deleted, or raises an error, so that nothing is committed.
const lastQuery = `WITH applied(ord, control) AS (
%s
)%s
SELECT coalesce((SELECT control FROM applied), {s}taskkit_unapplied($1::text::uuid, $2::bigint, $3::bigint, %t))`

// leaseLost is the SQLSTATE that taskkit_unapplied raises.
const leaseLost = "TK001"

// lastPlan is what the statement of a last write depends on.
type lastPlan struct {
	updatePlan
	result bool // it stores a result too
}

// lastWrite returns the statement of the last write of a batch, without what is recorded with it but a result. It scans the request on the task
// after the write.
func (s *Store) lastWrite(w *store.Write, control *lifecycle.Control) sqlbase.Step {
	writes := []*store.Write{w}
	l := lastPlan{newUpdatePlan(writes), w.Result != nil}
	l.clearsControl = w.To.Terminal()
	args := l.args(writes)
	text := s.lastSQL(l, len(args))
	if l.result {
		args = append(args, sqlbase.ResultArgs(w)...)
	}
	return sqlbase.Step{
		Text: text,
		Args: args,
		Row:  func(scan func(...any) error) error { return scan((*string)(control)) },
	}
}

// lastSQL is the statement for a last write with this plan, of which the update has n parameters.
func (s *Store) lastSQL(l lastPlan, n int) string {
	s.applying.Lock()
	text, ok := s.lasts[l]
	s.applying.Unlock()
	if ok {
		return text
	}
	with := ""
	if l.result {
		with = ", recorded AS (\n" + sqlbase.ResultIf("applied", n) + "\n)"
	}
	text = s.SQL(fmt.Sprintf(lastQuery, s.applySQL(l.updatePlan), with, l.clearsControl))
	s.applying.Lock()
	defer s.applying.Unlock()
	s.lasts[l] = text
	return text
}
