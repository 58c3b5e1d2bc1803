package main_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode"

	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// hostile begins a line of its own, moves the cursor, and turns the order of characters around.
const hostile = "odd\nFORGED line\r\nFORGED\rFORGED \x1b[2J\u009b31m\x7f\u202egpj.exe\u2066 \u2028FORGED"

// Every command that prints texts of users prints them without a forged line and without a
// character that a terminal does not show as itself, but the tabs between cells. The JSON decodes to the same text.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		failed := s.submit(t, taskkit.WithReason(hostile))
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			b.Fail(hostile, taskkit.Permanent("gone", errors.New(hostile)))
			if b.Task == failed {
				return taskkit.Done, taskkit.Permanent("gone", errors.New(hostile))
			}
			return taskkit.Done, nil
		})
		ran(t, s.args("watch", failed.String())...)
		items := s.submit(t)
		expect(t, 0, "", s.args("watch", items.String())...)
		waits := s.submit(t, taskkit.WithQueue("night"), taskkit.WithCoalescing(hostile), taskkit.WithReason(hostile))
		seen := 0
		for _, args := range [][]string{
			{"pause", waits.String(), "--reason", hostile},
			{"queues", "pause", "night", "--reason", hostile},
			{"ls"},
			{"queues"},
			{"workers"},
			{"limits"},
			{"changes"},
			{"dead"},
			{"dead", "show"},
			{"show", failed.String()},
			{"show", waits.String()},
			{"explain", failed.String()},
			{"explain", waits.String()},
			{"watch", failed.String()},
			{"watch", waits.String(), "--timeout", "1ms"},
			{"items", items.String()},
			{"ls", "--kind", hostile},
			{"show", hostile},
			{"schedules", "show", hostile},
			{"queues", "pause", hostile},
			{hostile},
			{"resume", waits.String(), "--reason", hostile},
			{"run", hostile},
			{"run", "watch", "--url", hostile},
			{"kinds", "show", hostile},
			{"result", hostile},
			{"result", failed.String()},
			{"rate", waits.String(), hostile},
			{"items", items.String(), "--outcome", hostile},
			{"schema", hostile},
			{"retry", "--where", "frob:" + hostile},
			{"retry", "--where", "status:" + hostile, "--yes"},
			{"retry", "--where", `reference:"` + hostile + `"`, "--yes"},
			{"stop", "--where", "kind:watch", "--yes", "--reason", hostile},
			{"retry", "--where", "kind:watch status:failed queue:none", "--dry-run"},
		} {
			for _, format := range []string{"table", "json", "name"} {
				_, out, errs := ran(t, s.args(append(args, "-o", format)...)...)
				for line := range strings.Lines(out + errs) {
					if strings.HasPrefix(line, "FORGED") {
						t.Errorf("%q -o %s: a forged line: %q", args, format, out+errs)
						break
					}
				}
				if i := strings.IndexFunc(out+errs, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
					t.Errorf("%q -o %s prints %q", args, format, (out + errs)[i:min(i+10, len(out+errs))])
				}
				seen += strings.Count(out+errs, "FORGED")
			}
		}
		if seen < 20 {
			t.Errorf("the text is printed %d times only", seen)
		}
	})
}
