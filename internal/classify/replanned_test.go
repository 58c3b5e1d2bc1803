package classify_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/testkit/testdb"
)

// A statement whose prepared plan has another result by now is tried again, whatever the language of the server's
// messages is.
func TestReplannedStatement(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, sql := range []string{
		"CREATE TABLE replanned (id int)",
		"PREPARE p AS SELECT * FROM replanned",
		"EXECUTE p",
		"ALTER TABLE replanned ADD COLUMN name text",
	} {
		if _, err := conn.ExecContext(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	_, err = conn.ExecContext(t.Context(), "EXECUTE p")
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("the statement returned %v, want an error of the server", err)
	}
	pg.Message = "gecachter Plan darf den Ergebnistyp nicht ändern"
	if v := classify.Classify(t.Context(), err); v.Class != lifecycle.Transient {
		t.Errorf("%v is %s, want %s", err, v.Class, lifecycle.Transient)
	}
}
