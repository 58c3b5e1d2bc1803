package taskui_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// A service adds options to the tasks that people start, or refuses them.
func TestStartAddsOptions(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t), func(c *taskui.Config) {
		c.Start = func(_ context.Context, p taskui.Person, kind string) ([]taskkit.SubmitOption, error) {
			if p.ID == uuid.Nil || kind != "halves" {
				t.Errorf("%s starts %s", p.ID, kind)
			}
			if p.Level == taskui.Admin {
				return nil, &taskkit.OptionError{Option: "halves", Problem: "not for admins"}
			}
			return []taskkit.SubmitOption{taskkit.WithQueue("reports")}, nil
		}
	})
	if a := e.do(t, http.MethodPost, "/tasks/kind/halves", "key=k&step=run"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "not for admins") {
		t.Errorf("%d\n%s", a.status, a.body)
	}
	a := e.as(operator).do(t, http.MethodPost, "/tasks/kind/halves", "key=k&step=run")
	if a.status != http.StatusSeeOther {
		t.Fatalf("%d\n%s", a.status, a.body)
	}
	found, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{"halves"}})
	if err != nil || len(found) != 1 || found[0].Queue != "reports" || found[0].Owner != e.people[operator].ID {
		t.Errorf("%v, %v", found, err)
	}
}
