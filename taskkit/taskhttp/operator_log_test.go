package taskhttp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// written is what a server has logged.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *written) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// line returns the first line with a message.
func (l *written) line(message string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, `msg="`+message+`"`) {
			return line
		}
	}
	return ""
}

// The log says which limit was changed and by whom, and who has made a change that failed after a part of it.
func TestChangesOfOperatorsAreLogged(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		log := new(written)
		e := newEnv(t, db, func(c *taskhttp.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
		e.runWorker(t)
		check(t, "remove a limit", e.operate(t, "DELETE", "/limits?key=program+7", ""), 204, nil)
		made := log.line("an operator made a change")
		for _, want := range []string{"operation=change-limits", "actor=" + e.person.String(), "method=DELETE", "/limits", "program+7"} {
			if !strings.Contains(made, want) {
				t.Errorf("the log does not say %s: %q", want, made)
			}
		}
		check(t, "a wrong request", e.operate(t, "POST", "/dead/drop", `{}`), 400, taskhttp.ErrBadParameter)
		if failed := log.line("a change of an operator failed, and a part of it may be done"); failed != "" {
			t.Errorf("a wrong request is logged as a change: %s", failed)
		}

		stuck := e.deadJob(t)
		for range 2 {
			e.deadJob(t)
		}
		keepTask(t, db, stuck)
		check(t, "drop", e.operate(t, "POST", "/dead/drop", `{"all":true}`), 500, taskhttp.ErrInternal)
		if left, _, err := e.client.Tasks(t.Context(), taskkit.Filter{}); err != nil || len(left) != 1 || left[0].ID != stuck {
			t.Errorf("%d tasks are left, %v, want the one that cannot be deleted", len(left), err)
		}
		failed := log.line("a change of an operator failed, and a part of it may be done")
		for _, want := range []string{"operation=drop-dead", "actor=" + e.person.String(), "after 2 dead letters"} {
			if !strings.Contains(failed, want) {
				t.Errorf("the log does not say %s: %q", want, failed)
			}
		}
	})
}

// keepTask makes the database refuse to delete a task.
func keepTask(t *testing.T, db *testdb.DB, id taskkit.ID) {
	t.Helper()
	statements := []string{`CREATE TRIGGER keep BEFORE DELETE ON taskkit_queued_task WHEN OLD.id = '` + id.String() + `' BEGIN SELECT RAISE(ABORT, 'kept'); END`}
	if db.Dialect == dialect.Postgres {
		statements = []string{
			`CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'kept'; END $$`,
			`CREATE TRIGGER keep BEFORE DELETE ON taskkit_queued_task FOR EACH ROW WHEN (OLD.id = '` + id.String() + `') EXECUTE FUNCTION keep()`,
		}
	}
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}
