package postgres

import (
	"context"
	"database/sql"
	"errors"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// lastStatements returns the statements of the last write of a batch, which are sent together with COMMIT, or none if one
// of them depends on what another one answers. They scan the request on the task after the write.
//
// An end with more than a result is written step by step: the task may be removed by the first statement, and then
// nothing is recorded.
func (s *Store) lastStatements(ctx context.Context, w *store.Write, control *lifecycle.Control) ([]sqlbase.Step, error) {
	all := []sqlbase.Step{s.lastWrite(w, control)}
	switch {
	case !sqlbase.HasRecords(w), sqlbase.HasResultOnly(w):
		return all, nil
	case w.To.Terminal(), w.Result != nil:
		return nil, nil
	}
	var records collector
	err := s.Record(ctx, &records, []*store.Write{w}, []*store.Applied{{}})
	switch {
	case errors.Is(err, errNotSent):
		return nil, nil
	case err != nil:
		return nil, lastWriteFailed(w.ID, err)
	}
	return append(all, records.steps...), nil
}

// collector collects the statements of [sqlbase.Statements.Record] instead of running them. A query returns
// [errNotSent]: which records need one is known to the code that stores them and nowhere else.
type collector struct{ steps []sqlbase.Step }

// errNotSent: an answer is needed before the next statement.
var errNotSent = errors.New("the statement has not been sent")

// ExecContext implements [store.Querier].
func (c *collector) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	c.steps = append(c.steps, sqlbase.Step{Text: query, Args: args})
	return noAnswer{}, nil
}

// QueryContext implements [store.Querier].
func (*collector) QueryContext(context.Context, string, ...any) (*sql.Rows, error) {
	return nil, errNotSent
}

// noAnswer is the result of a statement that has not been sent.
type noAnswer struct{}

func (noAnswer) LastInsertId() (int64, error) { return 0, errNotSent }
func (noAnswer) RowsAffected() (int64, error) { return 0, errNotSent }
