package taskhttp_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskhttp"
)

// An operator gets the report on what is wrong, in the form of the document, and other callers do not.
func TestOperatorsReadDoctor(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		submit(t, e, workKind, workSpec{Mode: done, Token: secretMarker})
		r := e.operate(t, "GET", "/doctor", "")
		newDocument(t).conforms(t, "GET", "/jobs/operator/doctor", r)
		var report taskdoctor.Report
		decode(t, r.body, &report)
		if len(report.Findings) == 0 || len(report.Checks) < 10 || report.ExitStatus(false) != 2 || strings.Contains(r.body, secretMarker) {
			t.Errorf("%s", r.body)
		}
		check(t, "a parameter", e.operate(t, "GET", "/doctor?verbose=1", ""), 400, taskhttp.ErrBadParameter)
		check(t, "nobody's right", e.do(t, "GET", "/jobs/operator/doctor", ""), 403, taskhttp.ErrForbidden)
	})
	if _, err := taskhttp.New(testdb.SQLite(t).DB, taskhttp.Config{Caller: callerOf, Authorize: taskhttp.OwnJobs, Doctor: taskdoctor.Options{Due: -1}}); err == nil || !strings.Contains(err.Error(), "Config.Doctor") {
		t.Errorf("a negative option: %v", err)
	}
}
