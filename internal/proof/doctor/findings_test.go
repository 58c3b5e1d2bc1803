package doctor_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskdoctor"
)

// plant is how a finding is planted and mended.
type plant struct {
	id    string
	on    dialect.Name // the only database that can have it; "": both
	about string       // what is affected; "": anything. plant may set it
	plant func(b *env, p *plant)
	// mend mends it. nil: the command or the statement of the finding does.
	mend func(b *env, f *taskdoctor.Finding)
	// uncommanded is why the command cannot find it in a test.
	uncommanded string
}

// Each finding is planted on each database that can have it, and found by the library, the command and HTTP. It is mended as it says, and
// is gone then.
func TestFindings(t *testing.T) {
	t.Parallel()
	server := durable(t)
	t.Run("all", func(t *testing.T) {
		for _, p := range slices.Concat(taskPlants, tablePlants, settingPlants, filePlants, telemetryPlants) {
			t.Run(p.id, func(t *testing.T) {
				t.Parallel()
				if p.on != dialect.SQLite {
					t.Run("postgres", func(t *testing.T) {
						t.Parallel()
						p.check(t, testdb.On(t, server, testdb.MaxConns(4)))
					})
				}
				if p.on != dialect.Postgres {
					t.Run("sqlite", func(t *testing.T) {
						t.Parallel()
						p.check(t, testdb.SQLite(t))
					})
				}
			})
		}
	})
}

// The findings about a whole server, on one that no other test has.
func TestFindingsOfServers(t *testing.T) {
	t.Parallel()
	server := durable(t)
	for _, p := range serverPlants {
		t.Run(p.id, func(t *testing.T) { p.check(t, testdb.On(t, server, testdb.MaxConns(4))) })
	}
}

// Every finding of the list has a plant, but for one that no test can make.
func TestPlantsAreComplete(t *testing.T) {
	t.Parallel()
	planted := map[string]bool{"sqlite_network": true} // a file system of another machine, see TestNetworks of package vitals
	for _, p := range slices.Concat(taskPlants, tablePlants, settingPlants, filePlants, serverPlants, telemetryPlants) {
		planted[p.id] = true
	}
	planted["standby"] = true // TestStandby
	for _, k := range taskdoctor.Findings() {
		if !planted[k.ID] {
			t.Errorf("%s is not planted", k.ID)
		}
		delete(planted, k.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(planted)) {
		t.Errorf("%s is planted, and is no finding", id)
	}
}

// check plants, finds, mends and looks again.
func (p *plant) check(t *testing.T, db *testdb.DB) {
	t.Helper()
	own := *p // plant may change it
	p = &own
	b := bareEnv(t, db)
	if p.id != "schema_behind" {
		b = newEnv(t, db)
	}
	p.plant(b, p)
	f := p.until(b, true)
	for what, report := range map[string]func() *taskdoctor.Report{"HTTP": b.byHTTP, "the command": b.byCommand} {
		if what == "the command" && p.uncommanded != "" {
			continue
		}
		r := report()
		if p.finding(r) == nil {
			t.Errorf("%s does not find it: %+v", what, r.Findings)
		}
	}
	if p.uncommanded == "" { // as the runbook says
		if _, out, errs := b.shell(strings.Join(append(sections(t)[p.id][:1], b.flags...), " ")); !strings.Contains(out, " "+p.id+": ") {
			t.Errorf("the command of the runbook does not print %s:\n%s%s", p.id, out, errs)
		}
	}
	if f.Text == "" || !strings.HasSuffix(f.Text, ".") || f.Fix == "" || f.Docs != "https://taskkit.dev/doctor#"+p.id {
		t.Errorf("the finding is not complete: %+v", f)
	}
	t.Logf("%s\nfix %s\nrun %s\nsql %s", f.Text, f.Fix, f.Command, f.SQL)
	if f.Command != "" {
		if status, out, errs := b.shell(strings.ReplaceAll(f.Command, "PERSON", "01890a5d-ac96-474b-bcce-b302099a8058")); status != 0 {
			t.Errorf("%s: status %d\n%s%s", f.Command, status, out, errs)
		}
	}
	if f.SQL != "" {
		db := b.open()
		_, err := db.ExecContext(testdb.Within(t), f.SQL)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Errorf("%s: %v", f.SQL, err)
		}
	}
	if p.mend != nil {
		p.mend(b, f)
	}
	p.until(b, false)
}

// until waits until the library finds the plant, or no longer does, and returns the finding.
func (p *plant) until(b *env, there bool) *taskdoctor.Finding {
	b.Helper()
	for end := time.Now().Add(testdb.Patience(b)); ; {
		r := b.byGo()
		f := p.finding(r)
		if (f != nil) == there {
			return f
		}
		if time.Now().After(end) {
			b.Fatalf("%s found: %t, want %t; findings %+v; unknown %+v", p.id, f != nil, there, r.Findings, r.Unknown)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-b.Context().Done():
		}
	}
}
