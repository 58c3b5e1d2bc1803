package main_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
)

// Refused messages are listed, and given back by code, time and id; their rows say by whom and why.
func TestRedrive(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		args := func(args ...string) []string {
			args = append(args, "-d", db.DSN)
			if db.Schema != "" {
				args = append(args, "--schema", db.Schema)
			}
			return args
		}
		expect(t, 0, "no refused messages", args("intake", "refused", "--source", "registrar")...)
		for _, m := range []struct{ id, code, headers string }{{"a", "gave_up", "{}"}, {"b", "gave_up", ""}, {"c", "no_person", "{}"}, {"d\x1b[2J", "no_person", "{}"}} {
			headers := any(nil)
			if m.headers != "" {
				headers = m.headers
			}
			if _, err := db.ExecContext(t.Context(), `INSERT INTO taskkit_task_message (id, source, message_id, outcome, body_hash, code, detail, body, headers)
VALUES ($1, 'registrar', $2, 'refused', 0, $3, 'why', '{}', $4)`, uuid.Must(uuid.NewV7()).String(), m.id, m.code, headers); err != nil {
				t.Fatal(err)
			}
		}
		expect(t, 2, "--source is missing", args("intake", "redrive", "--all")...)
		expect(t, 2, "give --code, --id, --since or --until, or --all", args("intake", "redrive", "--source", "registrar")...)
		expect(t, 2, "neither a time like", args("intake", "redrive", "--source", "registrar", "--since", "soon")...)
		expect(t, 0, "in part", args("intake", "refused", "--source", "registrar")...)
		expect(t, 0, "there may be more: use --before", args("intake", "refused", "--source", "registrar", "-n", "2")...)
		expect(t, 0, "no refused messages", args("intake", "refused", "--source", "registrar", "--until", "1h")...)
		expect(t, 0, "0 messages given back", args("intake", "redrive", "--source", "other", "--all")...)
		expect(t, 0, "0 messages given back", args("intake", "redrive", "--source", "registrar", "--until", "2020-01-01T00:00:00Z")...)
		expect(t, 0, "not kept whole: 1 message", args("intake", "redrive", "--source", "registrar", "--code", "gave_up", "--since", "1h")...)
		expect(t, 0, "1 message given back", args("intake", "redrive", "--source", "registrar", "--id", "c", "--reason", "mended", "--by", "01890a5d-ac96-774b-bcce-b302099a8057")...)
		status, out, errs := ran(t, args("intake", "refused", "--source", "registrar", "-o", "json")...)
		var left []intake.RefusedMessage
		if err := json.Unmarshal([]byte(out), &left); err != nil || status != 0 || len(left) != 1 || left[0].ID != "d\x1b[2J" {
			t.Errorf("left are %s%s, %v", out, errs, err)
		}
		var n int
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM taskkit_task_message WHERE outcome = 'redriven' AND redriven_date IS NOT NULL
AND (message_id <> 'c' OR redriven_reason = 'mended' AND CAST(redriven_by AS text) = '01890a5d-ac96-774b-bcce-b302099a8057')`).Scan(&n); err != nil || n != 3 {
			t.Errorf("%d rows say that they were given back, %v", n, err)
		}
	})
}
