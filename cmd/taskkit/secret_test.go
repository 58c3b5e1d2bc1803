package main_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// hidden is the spec of a kind that is not compiled into the command: which of its
// fields are secret is stored in the database.
type hidden struct {
	User  string `json:"user"`
	Token string `json:"token"`
}

// No command prints a secret, in any output format.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	kind := taskkit.NewKind(taskkind.Definition[hidden, struct{}, struct{}]{
		Name: "login", Secrets: []string{"/spec/token"},
	})
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		id, err := taskkit.Submit(t.Context(), s.DB, kind, hidden{"ada", "hunter2"}, taskkit.WithSchema(s.schema), taskkit.System())
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"show", id.String()},
			{"show", "@last", "-o", "json"},
			{"ls"},
			{"ls", "-o", "json"},
			{"explain", id.String()},
			{"explain", id.String(), "-o", "json"},
			{"pause", id.String()},
			{"resume", id.String()},
			{"stop", id.String()},
			{"watch", id.String()},
		} {
			_, out, errs := ran(t, s.args(args...)...)
			if strings.Contains(out+errs, "hunter2") {
				t.Errorf("taskkit %v: %s%s", args, out, errs)
			}
			if args[0] == "show" && (!strings.Contains(out, "***") || !strings.Contains(out, "ada")) {
				t.Errorf("taskkit %v: %s%s, want the spec with its token masked", args, out, errs)
			}
		}
	})
}
