package taskkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/throttle"
)

// defaults are all defaults of [Config], [Retention] and [throttle.Config]: their documentation says
// them in these words, and a zero value has them. A nil value is not compared.
func defaults() []struct {
	field, text string
	got, want   any
} {
	const day = 24 * time.Hour
	e := Config{}.engine()
	r, t := Retention{}.or(defaultRetention), e.Throttle
	return []struct {
		field, text string
		got, want   any
	}{
		{"Config.Backoff", "5 s", e.Backoff.Base, 5 * time.Second},
		{"Config.BackoffMax", "1 h", e.Backoff.Cap, time.Hour},
		{"Config.BatchTarget", "1 s", e.BatchTarget, time.Second},
		{"Config.BatchTimeout", "30 s", e.BatchTimeout, 30 * time.Second},
		{"Config.CallTimeout", "10 s", e.Call, 10 * time.Second},
		{"Config.ClaimMax", "the free slots plus a prefetch for short tasks", e.ClaimMax, 0},
		{"Config.Context", "none", e.Identity == nil, true},
		{"Config.DeadAfter", "60 s", e.DeadAfter, time.Minute},
		{"Config.Drain", "25 s", e.Drain, 25 * time.Second},
		{"Config.Heartbeat", "10 s", e.Heartbeat, 10 * time.Second},
		{"Config.ListenDSN", "the pool itself", nil, nil},
		{"Config.LockTimeout", "5 s", e.LockTimeout, 5 * time.Second},
		{"Config.Logger", "slog.Default()", e.Log != nil, true},
		{"Config.MaxAttempts", "10", e.MaxAttempts, 10},
		{"Config.Observer", "none", e.Observe == nil, true},
		{"Config.Poll", "1 s", e.Poll, time.Second},
		{"Config.PollListening", "15 s", e.PollListening, 15 * time.Second},
		{"Config.Quantum", "5 min", e.Quantum, 5 * time.Minute},
		{"Config.Queues", `"default" alone`, e.Queues, []string{"default"}},
		{"Config.QueueSlots", "none", len(e.QueueSlots), 0},
		{"Config.Retention", "", nil, nil}, // below
		{"Config.KindRetention", "", nil, nil},
		{"Config.SafeMode", "false", e.SafeMode, false},
		{"Config.Schema", `"taskkit"`, DefaultSchema, "taskkit"},
		{"Config.Slots", "12", e.Slots, 12},
		{"Config.SystemID", "the host's name", e.System, ""},
		{"Config.Throttle", "", nil, nil}, // below
		{"Config.UnknownKindAfter", "14 days", e.UnknownKindAfter, 14 * day},
		{"Config.measureEvery", "", e.MeasureEvery, 5 * time.Second},
		{"Config.cleanEvery", "", e.CleanEvery, time.Minute},
		{"Config.scheduleEvery", "", e.ScheduleEvery, 15 * time.Second},
		{"Retention.Fetched", "5 min", r.Fetched, 5 * time.Minute},
		{"Retention.Unfetched", "7 days", r.Unfetched, 7 * day},
		{"Retention.Ended", "30 days", r.Ended, 30 * day},
		{"Retention.Idle", "[Never]", r.Idle, Never},
		{"Retention.Events", "90 days", e.Events, 90 * day},
		{"Throttle.Off", "false", t.Interval > 0, true},
		{"Throttle.Interval", "5 s", t.Interval, 5 * time.Second},
		{"Throttle.IgnoreVacuum", "false", t.Vacuum, true},
		{"Throttle.ReplicaLag", "60 s", t.ReplicaLag, time.Minute},
		{"Throttle.ReplicaBytes", "1 GiB", t.ReplicaBytes, int64(1 << 30)},
		{"Throttle.IgnoreReplicas", "none", len(t.IgnoreReplicas), 0},
		{"Throttle.WALRate", "0", t.WALRate, int64(0)},
		{"Throttle.LockWait", "10 s", t.LockWait, 10 * time.Second},
		{"Throttle.Indicators", "none", len(t.Indicators), 0},
	}
}

// A default is what the documentation says, and every field has one or says nothing of it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	docs := make(map[string]string)
	for _, file := range []string{"config.go", "retention.go", "throttle/throttle.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			of := spec.Name.Name
			if f.Name.Name == "throttle" && of == "Config" {
				of = "Throttle"
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					docs[of+"."+field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
				}
			}
			return true
		})
	}
	operations, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]bool)
	for _, d := range defaults() {
		listed[d.field] = true
		if !reflect.DeepEqual(d.got, d.want) {
			t.Errorf("%s defaults to %v, want %v", d.field, d.got, d.want)
		}
		_, after, stated := strings.Cut(docs[d.field], "efaults to ")
		if stated != (d.text != "") || !strings.HasPrefix(after, d.text) {
			t.Errorf("the documentation of %s says that it defaults to %q, want %q", d.field, after, d.text)
		}
		if name, ok := strings.CutPrefix(d.field, "Retention."); ok {
			checkRetentionRow(t, string(operations), name, d.text)
		}
	}
	for of, config := range map[string]reflect.Type{"Config": reflect.TypeFor[Config](), "Retention": reflect.TypeFor[Retention](), "Throttle": reflect.TypeFor[throttle.Config]()} {
		for field := range config.Fields() {
			if name := of + "." + field.Name; !listed[name] {
				t.Errorf("%s is not in the list of defaults", name)
			}
		}
	}
}

// checkRetentionRow checks a row of the table of retention in docs/operations.md.
func checkRetentionRow(t *testing.T, page, field, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "[Never]", "for ever")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "|") && strings.Contains(line, "`"+field+"` |") {
			if !strings.Contains(line, "| "+text) {
				t.Errorf("docs/operations.md says of %s: %s, want %q", field, line, text)
			}
			return
		}
	}
	t.Errorf("docs/operations.md has no row for %s", field)
}
