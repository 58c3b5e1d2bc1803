package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Consumers whose messages are about the same references, in opposite orders, do not wait for each other.
func TestReferencesOfTwoConsumers(t *testing.T) {
	t.Parallel()
	const persons, times = 100, 5
	for _, versions := range []bool{false, true} {
		t.Run(fmt.Sprint(versions), func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				var rs []*running
				for k := range 2 {
					q := newQueue()
					for n := range times * persons {
						person := 1 + n%persons
						if k == 1 {
							person = persons - n%persons
						}
						q.publish(intake.Message{ID: fmt.Sprint(k, " ", n), Body: fmt.Appendf(nil, `{"person":%d,"status":"left","version":%d}`, person, 2*n+k)})
					}
					c := config(t, db, q)
					c.Handler = func(_ context.Context, m intake.Message) (intake.Decision, error) {
						var spec statusSpec
						if err := json.Unmarshal(m.Body, &spec); err != nil {
							return intake.Decision{}, err
						}
						options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithCoalescing(fmt.Sprint("person ", spec.Person))}
						if versions {
							options = append(options, taskkit.WithVersion(spec.Version))
						}
						return intake.Submit(statusKind, spec, options...), nil
					}
					rs = append(rs, run(t, c))
				}
				for _, r := range rs {
					r.until("all", received(times*persons))
					if s := r.Stats(); s.Waits > 0 || s.Submitted+s.Superseded != times*persons {
						t.Errorf("%+v", s)
					}
				}
				if got := tasks(t, db); len(got) != persons {
					t.Errorf("%d persons have tasks", len(got))
				}
			})
		})
	}
}
