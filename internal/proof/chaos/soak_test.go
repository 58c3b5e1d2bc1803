package chaos_test

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
)

// Two workers work for an hour (the budget, in the long form): their memory does
// not grow, and they never have more connections than they were given.
func TestSoak(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/statm"); err != nil {
		t.Skipf("the memory of another process is read from /proc: %v", err)
	}
	budget, long := prove.Budget(t)
	if !long {
		budget = 3 * time.Second
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		f := newHarness(t, db)
		f.args.Slots, f.args.MaxConns = 4, 6
		var ws []*worker
		for n := range 2 {
			ws = append(ws, f.launch(func(a *workerArgs) {
				if db.Dialect == dialect.Postgres {
					a.DSN = named(t, a.DSN, fmt.Sprint("soak", n))
				}
			}))
		}
		begin, warm := time.Now(), min(budget/4, 2*time.Minute)
		var memory []sample
		tasks, connections := 0, 0
		// Enough to be at work all the time, and not to keep the machine from
		// everything else for an hour.
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		seen := func() bool { return connections > 0 && len(memory) > 0 }
		// On a busy machine it takes the workers longer than the short form to begin.
		for n := 0; time.Since(begin) < budget || !long && !seen() && time.Since(begin) < testdb.Patience(t); n++ {
			<-tick.C
			if f.waiting() < 50 {
				f.submit(8, 5*time.Millisecond)
				tasks++
			}
			if n%4 != 0 {
				continue
			}
			connections = max(connections, f.connections(ws))
			if age := time.Since(begin); age > warm {
				for _, w := range ws {
					memory = append(memory, sample{age, resident(t, w.Process.Pid)})
				}
			}
		}
		f.until("all have ended", func() bool { return f.waiting() == 0 })
		r := f.check(oracle.Options{Ended: true})
		perHour, least, most := slope(memory)
		t.Logf("%v: %d tasks, %d touches; memory %.1f to %.1f MB, slope %+.2f MB/h, by quarters %s; at most %d connections",
			budget, tasks, r.Counts.Touches, least, most, perHour, quarters(memory), connections)
		if connections > f.args.MaxConns {
			t.Errorf("a worker had %d connections, and may have %d", connections, f.args.MaxConns)
		}
		if connections == 0 {
			t.Error("no connection was seen")
		}
		if r.Counts.Touches == 0 || len(memory) == 0 {
			t.Error("nothing was done, or nothing measured")
		}
		if long {
			prove.Record(t, "soak-"+short(db), map[string]any{
				"time": budget.String(), "tasks": tasks, "touches": r.Counts.Touches,
				"memory, MB": fmt.Sprintf("%.1f to %.1f", least, most), "slope, MB/h": fmt.Sprintf("%+.2f", perHour),
				"median of each quarter, MB": quarters(memory),
				"connections":                connections, "connections allowed": f.args.MaxConns, "violations": len(r.Violations),
			})
		}
	})
}

// named gives the connections of a DSN a name.
func named(t *testing.T, dsn, name string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", name)
	u.RawQuery = q.Encode()
	return u.String()
}

// waiting is how many tasks have not ended.
func (f *harness) waiting() (n int) {
	f.Helper()
	err := f.db.QueryRowContext(f.Context(), "SELECT count(*) FROM taskkit_queued_task WHERE workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')").Scan(&n)
	if err != nil {
		f.Fatal(err)
	}
	return n
}

// connections is the most that one of the workers has to the database. To SQLite
// each is an open file. On PostgreSQL more than it may have counts when it lasts:
// a backend whose client has gone needs a moment to go too, and its successor may
// be there before.
func (f *harness) connections(ws []*worker) (n int) {
	f.Helper()
	if f.db.Dialect == dialect.SQLite {
		for _, w := range ws {
			n = max(n, f.opened(w.Process.Pid))
		}
		return n
	}
	for try := 0; try < 50 && (try == 0 || n > f.args.MaxConns); try++ {
		if try > 0 {
			<-time.After(100 * time.Millisecond)
		}
		err := f.db.QueryRowContext(f.Context(), `SELECT coalesce(max(n), 0) FROM (
  SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'soak%' GROUP BY application_name) s`).Scan(&n)
		if err != nil {
			f.Fatal(err)
		}
	}
	return n
}

// opened is how often a process has the SQLite file open.
func (f *harness) opened(pid int) (n int) {
	f.Helper()
	var file string
	if err := f.db.QueryRowContext(f.Context(), "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		f.Fatal(err)
	}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		f.Fatal(err)
	}
	for _, fd := range fds {
		// One that was closed since is none.
		if to, err := os.Readlink(fd); err == nil && to == file {
			n++
		}
	}
	return n
}

// sample is the memory of a process at a time.
type sample struct {
	at time.Duration
	mb float64
}

// resident is a process's resident memory in MB.
func resident(t *testing.T, pid int) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(text)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return float64(pages*int64(os.Getpagesize())) / 1e6
}

// quarters are the medians of the four quarters of the time: memory that a
// process takes once, at its beginning, makes a slope too.
func quarters(samples []sample) string {
	var medians []string
	for i := range 4 {
		var mb []float64
		for _, s := range samples[len(samples)*i/4 : len(samples)*(i+1)/4] {
			mb = append(mb, s.mb)
		}
		slices.Sort(mb)
		if len(mb) > 0 {
			medians = append(medians, fmt.Sprintf("%.1f", mb[len(mb)/2]))
		}
	}
	return strings.Join(medians, " ")
}

// slope is how much memory grows, by least squares, with the least and the most.
func slope(samples []sample) (perHour, least, most float64) {
	var n, x, y, xx, xy float64
	for i, s := range samples {
		h := s.at.Hours()
		n, x, y, xx, xy = n+1, x+h, y+s.mb, xx+h*h, xy+h*s.mb
		if i == 0 {
			least = s.mb
		}
		least, most = min(least, s.mb), max(most, s.mb)
	}
	if d := n*xx - x*x; d > 0 {
		perHour = (n*xy - x*y) / d
	}
	return perHour, least, most
}
