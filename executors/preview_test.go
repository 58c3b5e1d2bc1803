package executors_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// domainTables are all tables of the domain.
var domainTables = []string{
	"caseload_person", "caseload_program", "caseload_enrolment", "caseload_status_change", "caseload_watch",
	"caseload_alert", "caseload_outbox", "caseload_export_part", "caseload_upload", "caseload_registrar_row", "caseload_touch",
}

// peopleEnv sets how many people [TestPreviewOfAllExecutors] acts on, for its long form.
const peopleEnv = "TASKKIT_PREVIEW_PEOPLE"

// previewed returns how many people the actions are for. Without [peopleEnv] each action
// takes two batches at least.
func previewed(t *testing.T) int {
	t.Helper()
	s := os.Getenv(peopleEnv)
	if s == "" {
		return 1_007
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("read %s, which must be a number of people as 10000: %q, %v", peopleEnv, s, err)
	}
	return n
}

// contents returns the number of rows of each table of the domain, and a hash of all
// values of all rows.
func contents(t *testing.T, db *sql.DB) (rows map[string]int64, hash string) {
	t.Helper()
	rows = make(map[string]int64)
	h := sha256.New()
	for _, table := range domainTables {
		n, text := wholeTable(t, db, table)
		rows[table] = n
		fmt.Fprintln(h, table, n, text)
	}
	return rows, fmt.Sprintf("%x", h.Sum(nil))
}

// wholeTable returns the number of rows of a table, and a text made by one aggregate of all
// of them: their hash on PostgreSQL, and the sorted rows themselves on SQLite, which has no
// hash function.
func wholeTable(t *testing.T, db *sql.DB, table string) (n int64, text string) {
	t.Helper()
	query := `SELECT count(*), coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text COLLATE "C")), '') FROM ` + table + " t"
	if _, lite := db.Driver().(*sqlite.Driver); lite {
		var row string // an expression that holds every column
		err := db.QueryRowContext(t.Context(), "SELECT group_concat('quote(\"' || name || '\")', ' || '','' || ') FROM pragma_table_info($1)", table).Scan(&row)
		if err != nil {
			t.Fatal(err)
		}
		query = "SELECT count(*), coalesce(group_concat(r, char(10)), '') FROM (SELECT " + row + " AS r FROM " + table + " ORDER BY r)"
	}
	if err := db.QueryRowContext(t.Context(), query).Scan(&n, &text); err != nil {
		t.Fatal(err)
	}
	return n, text
}

// collected is a mail server that takes everything.
type collected struct{ mails atomic.Int64 }

func (m *collected) Send(_ context.Context, mails []sendemail.Mail) []error {
	m.mails.Add(int64(len(mails)))
	return make([]error, len(mails))
}

// previewThenRun runs a preview and then the real task. The preview changes nothing, and
// counts what the real task then does.
func previewThenRun[Spec, State, Result any](t *testing.T, db *sql.DB, k *taskkit.Kind[Spec, State, Result], x taskkit.Executor[Spec, State], spec Spec, between func()) {
	t.Helper()
	rows, hash := contents(t, db)
	preview := tasktest.Run(t, k, x, spec, tasktest.WithDB(db), tasktest.WithSubmitOptions(taskkit.WithPreview()))
	if _, after := contents(t, db); after != hash {
		t.Errorf("%s: the preview has changed the tables", k.Name())
	}
	report, err := preview.Client.Preview(t.Context(), preview.Task.ID)
	if err != nil {
		t.Fatal(err)
	}
	between()
	run := tasktest.Run(t, k, x, spec, tasktest.WithDB(db))
	if p := preview.Task; p.Status != taskkit.StatusCompleted || p.Progress != run.Task.Progress || report.Progress != p.Progress {
		t.Errorf("%s: the preview is %s (%s) with %+v, the real task has %+v", k.Name(), p.Status, p.StatusDetail, p.Progress, run.Task.Progress)
	}
	if before, after := asJSON(t, preview.State), asJSON(t, run.State); before != after {
		t.Errorf("%s: the state of the preview is %s, that of the real task %s", k.Name(), before, after)
	}
	after, _ := contents(t, db)
	counted := false
	for _, c := range report.Changes {
		grown := after[c.Table] - rows[c.Table]
		if c.Verb != "insert" || !slices.Contains(domainTables, c.Table) {
			continue
		}
		if counted = true; c.Rows != grown {
			t.Errorf("%s: the preview counts %d new rows of %s, there are %d", k.Name(), c.Rows, c.Table, grown)
		}
	}
	if !counted && k.Name() != "program_status" {
		t.Errorf("%s: no new row is counted: %+v", k.Name(), report.Changes)
	}
	if report.OtherChanges != 0 || len(report.Changes) == 0 {
		t.Errorf("%s: changes %+v and %d others", k.Name(), report.Changes, report.OtherChanges)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutPooler opens the databases of a test for which the pooler makes no difference.
var withoutPooler = map[string]func(testing.TB) *sql.DB{
	"sqlite": tasktest.Open,
	"postgres": func(tb testing.TB) *sql.DB {
		tb.Helper()
		db, err := sql.Open("pgx", testdb.Pooled(tb).Direct)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = db.Close() })
		return db
	},
}

// A preview of each executor that has no children changes no row, sends no mail, writes no file, and counts
// what the real run then does. Over 10,000 people:
//
//	TASKKIT_PREVIEW_PEOPLE=10000 go test ./executors -run TestPreviewOfAllExecutors -v
func TestPreviewOfAllExecutors(t *testing.T) {
	t.Parallel()
	people := previewed(t)
	onEach(t, withoutPooler, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db := open0(t)
		if err := caseload.Create(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if _, err := caseload.Generate(t.Context(), db, people, 3); err != nil {
			t.Fatal(err)
		}
		c, err := caseload.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		nothing := func() {}
		previewThenRun(t, db, watchtask.Kind, &watch.Executor{}, watch.Spec{Targets: everyone(), Action: watch.Start}, nothing)
		previewThenRun(t, db, programstatustask.Kind, &programstatus.Executor{}, programstatus.Spec{
			Targets: everyone(), Program: caseload.Success, Status: caseload.Paused,
		}, nothing)
		previewThenRun(t, db, earlyalerttask.Kind, &earlyalert.Executor{BucketSize: 100}, earlyalert.Spec{
			Targets: everyone(), Category: "grades", Reason: "a preview",
		}, nothing)
		previewMails(t, db, c, people)
	})
}

// previewMails is the part that sends mail.
func previewMails(t *testing.T, db *sql.DB, c *ent.Client, people int) {
	t.Helper()
	m := &collected{}
	x := &sendemail.Executor{Caseload: c, Mailer: m}
	all, err := caseload.People(t.Context(), c, caseload.Query{}, uuid.Nil, uuid.Nil, people+1)
	if err != nil {
		t.Fatal(err)
	}
	previewThenRun(t, db, sendemailtask.Kind, x, sendemail.Spec{Targets: targets.Targets{People: all}, Letter: sendemail.Letter{Subject: "Hello {first_name}", Body: "Dear {first_name}.\n"}}, func() {
		if n := m.mails.Load(); n != 0 {
			t.Errorf("the preview has sent %d mails", n)
		}
	})
	if m.mails.Load() == 0 {
		t.Error("the real task has sent no mail")
	}
}
