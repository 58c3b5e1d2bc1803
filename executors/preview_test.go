package executors_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// domainTables are all tables of the domain.
var domainTables = []string{
	"caseload_person", "caseload_program", "caseload_enrolment", "caseload_status_change", "caseload_watch",
	"caseload_alert", "caseload_outbox", "caseload_export_part", "caseload_touch",
}

// contents returns the number of rows of each table of the domain, and a hash of all.
func contents(t *testing.T, db *sql.DB) (rows map[string]int64, hash string) {
	t.Helper()
	rows = make(map[string]int64)
	h := sha256.New()
	for _, table := range domainTables {
		lines := wholeTable(t, db, table)
		rows[table] = int64(len(lines))
		fmt.Fprintln(h, table, len(lines))
		for _, l := range lines {
			fmt.Fprintln(h, l)
		}
	}
	return rows, fmt.Sprintf("%x", h.Sum(nil))
}

// wholeTable returns the rows of a table, sorted.
func wholeTable(t *testing.T, db *sql.DB, table string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT * FROM "+table) //nolint:unqueryvet // all columns are compared, whichever there are
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
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
	preview := tasktest.Run(t, k, x, spec, tasktest.WithDB(db), tasktest.WithSubmitOptions(taskkit.Preview()))
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
		if c.Verb != "insert" || !slices.Contains(domainTables, c.Table) || c.Table == "caseload_export_part" {
			continue
		}
		if counted = true; c.Rows != grown {
			t.Errorf("%s: the preview counts %d new rows of %s, there are %d", k.Name(), c.Rows, c.Table, grown)
		}
	}
	if !counted && k.Name() != "export_caseload" && k.Name() != "program_status" {
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

// A preview of each executor over 10,000 people changes no row, sends no mail, writes no
// file, and counts what the real run then does.
func TestPreviewOfAllExecutors(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db := open0(t)
		if err := caseload.Create(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if _, err := caseload.Generate(t.Context(), db, 10_000, 3); err != nil {
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
		previewMails(t, db, c)
		previewExport(t, db, c)
		previewAlerts(t, db) // last: it leaves a task that sends mail
	})
}

// previewAlerts is the part that submits a task.
func previewAlerts(t *testing.T, db *sql.DB) {
	t.Helper()
	client := taskkit.NewClient(db)
	mailTasks := func() int64 {
		counts, err := client.Counts(t.Context(), sendemailtask.Kind.Name())
		if err != nil {
			t.Fatal(err)
		}
		return counts[taskkit.StatusQueued]
	}
	previewThenRun(t, db, earlyalerttask.Kind, &earlyalert.Executor{SubmitMail: sendemailtask.Submit}, alertSpec(everyone()), func() {
		if n := mailTasks(); n != 0 {
			t.Errorf("the preview has submitted %d tasks", n)
		}
	})
	if n := mailTasks(); n != 1 {
		t.Errorf("the real task has submitted %d tasks, want 1", n)
	}
}

// previewMails is the part that sends mail.
func previewMails(t *testing.T, db *sql.DB, c *ent.Client) {
	t.Helper()
	m := &collected{}
	x := &sendemail.Executor{Caseload: c, Mailer: m}
	all, err := caseload.People(t.Context(), c, caseload.Query{}, uuid.Nil, uuid.Nil, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	previewThenRun(t, db, sendemailtask.Kind, x, sendemail.Spec{Targets: targets.Targets{People: all}, Letter: hello}, func() {
		if n := m.mails.Load(); n != 0 {
			t.Errorf("the preview has sent %d mails", n)
		}
	})
	if m.mails.Load() == 0 {
		t.Error("the real task has sent no mail")
	}
}

// previewExport is the part that writes a file.
func previewExport(t *testing.T, db *sql.DB, c *ent.Client) {
	t.Helper()
	dir := t.TempDir()
	files := func() int {
		found, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	x := &exportcaseload.Executor{Caseload: c, Dir: dir}
	previewThenRun(t, db, exportcaseloadtask.Kind, x, exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.CSV}, func() {
		if n := files(); n != 0 {
			t.Errorf("the preview has written %d files", n)
		}
	})
	if n := files(); n != 1 {
		t.Errorf("the real task has written %d files, want 1", n)
	}
}
