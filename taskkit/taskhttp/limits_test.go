package taskhttp_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// Limits are set, listed page by page and taken back, whatever characters their keys have.
func TestLimits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		if r := e.operate(t, "GET", "/limits", ""); r.body != "{\"limits\":[]}\n" {
			t.Errorf("no limits: %s", r.body)
		}
		keys := []string{"..", "/", "Oslo & Bergen?", "program 7", "ø//"}
		for _, key := range keys {
			check(t, key, e.operate(t, "PUT", "/limits?key="+url.QueryEscape(key), `{"atMost":4}`), 204, nil)
		}
		check(t, "set again", e.operate(t, "PUT", "/limits?key=program+7", `{"atMost":2147483647}`), 204, nil)
		var got []string
		for next := "/limits?limit=2"; next != ""; {
			page := listed[taskhttp.LimitPage](t, e.operate(t, "GET", next, ""))
			for _, l := range page.Limits {
				got = append(got, l.Key)
				if want := map[bool]int{true: 2147483647, false: 4}[l.Key == "program 7"]; l.AtMost != want || !l.Set || l.Executing != 0 || l.Waiting != 0 {
					t.Errorf("limit %+v", l)
				}
			}
			if next = ""; page.Next != "" {
				next = "/limits?limit=2&cursor=" + url.QueryEscape(page.Next)
			}
		}
		if slices.Sort(got); !slices.Equal(got, keys) {
			t.Errorf("listed %q, want %q", got, keys)
		}
		for _, key := range append(keys, "never set") {
			check(t, "remove "+key, e.operate(t, "DELETE", "/limits?key="+url.QueryEscape(key), ""), 204, nil)
		}
		if page := listed[taskhttp.LimitPage](t, e.operate(t, "GET", "/limits", "")); len(page.Limits) != 0 {
			t.Errorf("limits are left: %+v", page)
		}
	})
}

// A limit names the jobs that hold its permits, and their worker.
func TestWhoHoldsALimit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		id, err := taskkit.Submit(t.Context(), db.DB, workKind, workSpec{Mode: hold}, taskkit.OwnedBy(e.person), taskkit.WithSchema(e.schema), taskkit.WithLimit("k", 1))
		if err != nil {
			t.Fatal(err)
		}
		e.batch(t, id)
		page := listed[taskhttp.LimitPage](t, e.operate(t, "GET", "/limits", ""))
		if len(page.Limits) != 1 || page.Limits[0].Executing != 1 || len(page.Limits[0].Jobs) != 1 || page.Limits[0].Jobs[0].ID != id || page.Limits[0].Jobs[0].Worker == "" {
			t.Errorf("limits %+v", page)
		}
	})
}

// What sets a limit has the person.
func TestWhoSetALimit(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		check(t, "set", e.operate(t, "PUT", "/limits?key=k", `{"atMost":4}`), 204, nil)
		table := "taskkit_limit"
		if db.Schema != "" {
			table = db.Schema + "." + table
		}
		var by uuid.UUID
		if err := db.QueryRowContext(t.Context(), "SELECT modified_by FROM "+table).Scan(&by); err != nil || by != e.person {
			t.Errorf("set by %s, %v, want %s", by, err, e.person)
		}
	})
}

// A limit that cannot be is refused, and nothing is stored.
func TestRefusedLimits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		for _, c := range []struct {
			method, query, body string
			want                *taskhttp.Error
		}{
			{"PUT", "key=k", `{"atMost":0}`, taskhttp.ErrBadParameter},
			{"PUT", "key=k", `{"atMost":-1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=k", `{"atMost":2147483648}`, taskhttp.ErrBadParameter},
			{"PUT", "key=k", `{}`, taskhttp.ErrBadParameter},
			{"PUT", "key=k", `{"atMost":1.5}`, taskhttp.ErrNotJSON},
			{"PUT", "key=k", `{"atMost":"1"}`, taskhttp.ErrNotJSON},
			{"PUT", "key=k", `{"atMost":null}`, taskhttp.ErrNotJSON},
			{"PUT", "key=k", `{"atMost":1,"key":"k"}`, taskhttp.ErrNotJSON},
			{"PUT", "key=k", `{"atMost":`, taskhttp.ErrNotJSON},
			{"PUT", "key=k", "", taskhttp.ErrMediaType},
			{"PUT", "", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=%00", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=%FF", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=" + strings.Repeat("k", 201), `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=a&key=b", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"PUT", "key=k&x=1", `{"atMost":1}`, taskhttp.ErrBadParameter},
			{"DELETE", "", "", taskhttp.ErrBadParameter},
			{"DELETE", "key=%FF", "", taskhttp.ErrBadParameter},
			{"GET", "key=k", "", taskhttp.ErrBadParameter},
			{"GET", "cursor=%00", "", taskhttp.ErrBadParameter},
			{"GET", "cursor=%FF", "", taskhttp.ErrBadParameter},
			{"GET", "limit=0", "", taskhttp.ErrBadParameter},
			{"POST", "key=k", `{"atMost":1}`, taskhttp.ErrMethod},
		} {
			check(t, c.method+" "+c.query+" "+c.body, e.operate(t, c.method, "/limits?"+c.query, c.body), c.want.Status, c.want)
		}
		if page := listed[taskhttp.LimitPage](t, e.operate(t, "GET", "/limits", "")); len(page.Limits) != 0 {
			t.Errorf("limits are stored: %+v", page)
		}
	})
}
