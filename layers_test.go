package style_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module.
const module = "taskkit.dev"

// A layer is a part of the tree and what of this module it may import besides
// itself. "x" is the package x, "x/..." also all below it.
type layer struct {
	is     string
	may    []string
	reason string
}

// layers are the allowed imports. The first layer that matches a package counts. A package that is
// not listed may import nothing of this module.
var layers = []layer{
	{"taskkit/segment", []string{"internal/dialect"}, "segments are arithmetic and SQL text: the core stores them, and they know no task"},
	{"taskkit/taskkind", []string{"taskkit/taskjson", "taskkit/taskpolicy"}, "the definition of a kind: generated code fills it in and the public package builds on it"},
	{"taskkit/taskcause", nil, "the causes are words: the public package finds them, and the command and HTTP show them"},
	{"taskkit/taskhttp", []string{"internal/csvcell", "internal/errtree", "taskkit", "taskkit/taskbulk", "taskkit/taskcause", "taskkit/taskdoctor", "taskkit/taskjson", "taskkit/taskops"}, "the client protocol stands on the public package as a user's code does, and the core does not know it"},
	{"taskkit/taskui", []string{"internal/access", "internal/csvcell", "internal/specform", "internal/tasksearch", "taskkit", "taskkit/taskbulk", "taskkit/taskcause", "taskkit/taskdoctor", "taskkit/taskhttp", "taskkit/taskops"}, "the dashboard stands on the public package as a user's code does, and the core does not know it"},
	{"taskkit/taskhealth", []string{"taskkit"}, "the handlers of probes stand on the public package as a user's code does"},
	{"taskkit/taskevent", nil, "the events of a worker are plain values: the engine emits them and users receive them, without a conversion"},
	{"taskkit/taskpolicy", nil, "strategies are plain values, which users write, the store keeps and sessions read"},
	{"taskkit/notice", nil, "notifications and subscriptions are plain values, which users write, the store keeps and package tasknotify delivers"},
	{"taskkit/tasknotify", []string{"internal/dialect", "taskkit", "taskkit/notice", "taskkit/taskkind"}, "notifications are delivered by tasks as a user's, and the core does not know how"},
	{"taskkit/taskbulk", []string{"internal/access", "internal/dialect", "internal/lifecycle", "internal/store", "internal/store/sqlrows", "taskkit", "taskkit/taskkind"}, "bulk operations are tasks as a user's, whose tasks are found in pages of ids, and the core does not know them"},
	{"taskkit/tasknotify/findings", []string{"internal/dialect", "taskkit", "taskkit/notice", "taskkit/taskdoctor", "taskkit/taskkind", "taskkit/tasknotify"}, "who is not notified of findings links no doctor with the deliveries"},
	{"taskkit/throttle", nil, "the configuration of throttling is plain values, which users fill in and sessions read"},
	{"taskkit/taskotel", []string{"internal/dialect", "taskkit", "taskkit/taskcause", "taskkit/taskdoctor", "taskkit/taskevent", "taskkit/taskops"}, "metrics and traces stand on the public package as a user's code does, and the core does not know OpenTelemetry"},
	{"taskkit/...", []string{"internal/...", "migrations"}, "the public package stands on internal and knows no executor, no generated code and no command"},
	{"executors/...", []string{"taskkit/...", "internal/demo/caseload/..."}, "executors are written as users write theirs, against taskkit and their own domain"},
	{"gen/...", []string{"executors/...", "taskkit/..."}, "generated code binds executors to taskkit and needs nothing else"},
	{"ent/...", []string{"internal/lifecycle"}, "ent holds the tables; of the rest it knows the words of the transition table"},
	{"internal/store/...", []string{"internal/...", "ent/...", "migrations", "taskkit/notice", "taskkit/taskpolicy"}, "the store is the only importer of ent"},
	{"internal/lifecycle", nil, "the rules are pure: no I/O, no other package"},
	{"internal/classify", []string{"internal/lifecycle"}, "it reads the structure of errors: codes, and for one code the routine of a *pgconn.PgError"},
	{"internal/dialect", nil, "the names of the databases"},
	{"internal/cmd/schemaplan", []string{"internal/lifecycle", "ent/...", "migrations"}, "the planner reads the ent schema to write migrations"},
	{"internal/cmd/withdb", []string{"internal/testkit/..."}, "it starts the servers of the tests"},
	{"internal/cmd/suite", nil, "it runs the go command"},
	{"internal/demo/caseload/...", nil, "the demonstration domain is the user's side: it knows nothing of taskkit"},
	{"cmd/taskkit/internal/mailserver", nil, "the demonstration's mail server knows nothing of taskkit"},
	{"internal/itemkey", nil, "the identity of items"},
	{"internal/csvcell", nil, "texts in files that spreadsheets open"},
	{"internal/specform", []string{"internal/csvcell"}, "forms are made of schemas and texts: the dashboard and the command line show them"},
	{"internal/errtree", nil, "errors within errors"},
	{"internal/workrate", nil, "the arithmetic of rates"},
	{"internal/cronline", nil, "the arithmetic of wall times"},
	{"internal/engine", []string{"internal/classify", "internal/engine/maintain", "internal/engine/observe", "internal/engine/session", "internal/lifecycle", "internal/store", "taskkit/taskevent"}, "the worker runs sessions and maintenance; the runtime reaches the database through the store"},
	{"internal/engine/session", []string{"internal/classify", "internal/dialect", "internal/engine/observe", "internal/itemkey", "internal/lifecycle", "internal/store", "internal/store/txchanges", "internal/store/txguard", "internal/workrate", "taskkit/notice", "taskkit/taskevent", "taskkit/taskpolicy", "taskkit/throttle"}, "a session reaches the pool and the group commit of its worker through interfaces"},
	{"internal/engine/maintain", []string{"internal/classify", "internal/cronline", "internal/engine/observe", "internal/engine/session", "internal/store", "taskkit/taskevent"}, "maintenance knows the kinds of tasks, and no worker"},
	{"internal/engine/observe", []string{"internal/classify", "internal/lifecycle", "internal/store", "taskkit/taskevent"}, "events reach the log and the user's observer; their level depends on the error of the store"},
	{"internal/migrate", []string{"internal/classify", "internal/dialect", "migrations"}, "migrations run before there is a store"},
	{"internal/taskgen", []string{"internal/taskgen/...", "taskkit/notice"}, "the generator's pipeline runs its steps, and reads subscriptions, which are plain values"},
	{"internal/taskgen/model", nil, "the generator's steps pass each other plain values"},
	{"internal/taskgen/load", []string{"internal/lifecycle", "internal/taskgen/model", "taskkit/notice"}, "loading turns packages into the model, whose names lifecycle checks, and packages of plain values their texts"},
	{"internal/taskgen/lock", []string{"internal/lifecycle", "internal/taskgen/model"}, "the lock compares the model with what was generated before"},
	{"internal/taskgen/schema", []string{"internal/taskgen/model"}, "a schema is written from the model"},
	{"internal/taskgen/emit", []string{"internal/taskgen/lock", "internal/taskgen/model", "internal/taskgen/schema"}, "emitting turns the model into files"},
	{"internal/proof/...", []string{"internal/...", "taskkit/...", "migrations"}, "the proof tests the library from outside and from inside"},
	{"internal/testkit/...", []string{"internal/...", "migrations", "taskkit/notice", "taskkit/taskpolicy"}, "what tests share"},
	{"internal/tasksearch", []string{"taskkit"}, "a search is a filter of the public package; the command and the dashboard, which stand on it, share the words"},
	{"internal/...", []string{"internal/...", "migrations"}, "internal never imports taskkit, and reaches the tables through internal/store"},
	{"contrib/grafana", nil, "the board is made of texts"},
	{"cmd/taskkit/taskkitcli", []string{"cmd/taskkit/internal/command", "taskkit"}, "users mount the commands, and get no demonstration with them"},
	{"cmd/taskkit/internal/command", []string{"cmd/taskkit/internal/database", "cmd/taskkit/internal/screen", "internal/csvcell", "internal/dialect", "internal/migrate", "internal/specform", "internal/tasksearch", "taskkit/..."}, "the commands that users mount stand on the public packages, and not on the demonstration"},
	{"cmd/...", []string{"cmd/...", "executors/...", "gen/...", "internal/...", "migrations", "taskkit/..."}, "a command may use all but ent"},
}

// demonstration are internal packages that stand on the user's side of the
// library: nothing but executors and commands may use them.
var demonstration = []string{"internal/demo/caseload/..."}

// unwanted are what `go list -deps ./taskkit` must not hold: it is what every
// user's program links.
var unwanted = []struct{ prefix, reason string }{
	{"modernc.org/", "the SQLite driver is linked by who uses SQLite"},
	{"github.com/mattn/go-sqlite3", "the SQLite driver is linked by who uses SQLite"},
	{"github.com/lib/pq", "the PostgreSQL driver is linked by who uses PostgreSQL"},
	{"ariga.io/", "Atlas plans migrations while developing and is not linked"},
	{"entgo.io/ent/dialect/sql/schema", "ent's own migration is not used and brings Atlas"},
	{"entgo.io/ent/entc", "ent's generator is not linked"},
	{"github.com/spf13/", "a command line belongs to cmd"},
	{"github.com/urfave/", "a command line belongs to cmd"},
	{"github.com/alecthomas/kong", "a command line belongs to cmd"},
	{"github.com/charmbracelet/", "a terminal belongs to cmd"},
	{"github.com/jedib0t/", "tables and progress bars belong to cmd"},
	{"github.com/vbauerster/", "tables and progress bars belong to cmd"},
	{"github.com/xuri/", "spreadsheets belong to an executor"},
	{"github.com/wneessen/", "mail belongs to an executor"},
	{"net/smtp", "mail belongs to an executor"},
	{"net/http/pprof", "it serves on the default mux of whoever links it"},
	{"testing", "tests stay out of programs"},
	{"net/http/httptest", "tests stay out of programs"},
	{"github.com/stretchr/", "tests stay out of programs"},
	{"go.uber.org/goleak", "tests stay out of programs"},
	{"github.com/Shopify/", "tests stay out of programs"},
	{"github.com/prometheus/", "it comes with a proxy of the tests"},
	{"golang.org/x/tools", "the generator's tools stay out of programs"},
	{module + "/internal/testkit/testdb", "tests stay out of programs"},
	{module + "/internal/demo", "the demonstration stays out of programs"},
	{"net/http", "HTTP is linked by who serves or calls it"},
	{module + "/taskkit/taskhttp", "the client protocol is linked by who serves or calls it"},
	{module + "/taskkit/taskui", "the dashboard is linked by who serves it"},
	{"html/template", "the dashboard is linked by who serves it"},
	{module + "/taskkit/taskdoctor", "what looks for faults is linked by who runs it"},
	{module + "/taskkit/tasknotify", "the delivery of notifications is linked by who uses it"},
	{module + "/taskkit/taskbulk", "bulk operations are linked by who uses them"},
	{module + "/internal/taskgen", "the generator stays out of programs"},
	{module + "/taskkit/intake", "the intake of messages is linked by who uses it"},
	{"time/tzdata", "the time zones are linked by who has no system that has them"},
	{"github.com/netresearch/", "it is a parser to compare ours with"},
	{"github.com/rabbitmq/", "a broker's client is linked by who uses the broker"},
	{"github.com/nats-io/", "a broker's client is linked by who uses the broker"},
	{"github.com/twmb/", "a broker's client is linked by who uses the broker"},
	{"go.opentelemetry.io/", "telemetry is linked by who exports it"},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours {
				continue
			}
			if l, ok := allowed(from, to); !ok {
				t.Errorf("%s imports %s: %s", from, to, l.reason)
			}
		}
		// A test may use more than its package, but ent is the store's.
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			to, ours := strings.CutPrefix(path, module+"/")
			if ours && fits(to, "ent/...") && !mayUseEnt(from) {
				t.Errorf("a test of %s imports %s: only internal/store and its planner know ent; ask the store or the database", from, to)
			}
		}
	}
}

func TestWhatUsersLink(t *testing.T) {
	t.Parallel()
	for path := range strings.SplitSeq(strings.TrimSpace(run(t, "go", "list", "-deps", "./taskkit")), "\n") {
		for _, u := range unwanted {
			if path == strings.TrimSuffix(u.prefix, "/") || strings.HasPrefix(path, strings.TrimSuffix(u.prefix, "/")+"/") {
				t.Errorf("./taskkit links %s: %s (see who imports it: go list -deps -json ./taskkit)", path, u.reason)
			}
		}
	}
}

// TestAllowed compares the table with the sentences of the design.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"executors/watch", "taskkit", true},
		{"executors/watch", "internal/demo/caseload", true},
		{"executors/watch", "internal/demo/caseload/ent", true},
		{"executors/watch", "internal/store", false},
		{"executors/watch", "gen/watchtask", false},
		{"gen", "executors/watch", true},
		{"gen/watchtask", "taskkit", true},
		{"gen/watchtask", "internal/store", false},
		{"taskkit", "internal/store", true},
		{"taskkit", "internal/demo/caseload", false},
		{"taskkit", "ent", false},
		{"taskkit", "gen", false},
		{"taskkit/tasktest", "taskkit", true},
		{"taskkit/segment", "internal/dialect", true},
		{"taskkit/segment", "internal/store", false},
		{"taskkit/segment", "taskkit", false},
		{"executors/watch", "taskkit/segment", true},
		{"taskkit/taskhttp", "taskkit", true},
		{"taskkit/taskhttp", "internal/store", false},
		{"internal/engine", "internal/store", true},
		{"internal/engine", "taskkit", false},
		{"internal/engine/session", "internal/engine", false},
		{"internal/engine", "taskkit/taskevent", true},
		{"taskkit", "taskkit/taskevent", true},
		{"taskkit/taskevent", "internal/engine", false},
		{"taskkit/taskevent", "taskkit", false},
		{"internal/engine", "ent/queuedtask", false},
		{"internal/engine", "internal/demo/caseload", false},
		{"internal/store", "ent/queuedtask", true},
		{"internal/store", "taskkit", false},
		{"internal/demo/caseload", "internal/demo/caseload/ent", true},
		{"internal/demo/caseload", "taskkit", false},
		{"internal/demo/caseload", "internal/store", false},
		{"ent/schema", "internal/lifecycle", true},
		{"ent", "internal/store", false},
		{"cmd/taskkit", "internal/demo/caseload", true},
		{"cmd/taskkit", "ent", false},
		{"migrations", "internal/store", false},
		{"elsewhere", "taskkit", false},
	} {
		if _, got := allowed(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: allowed is %t, want %t", c.from, c.to, got, c.want)
		}
	}
}

// allowed reports whether the package may import the other, and which layer decides.
func allowed(from, to string) (layer, bool) {
	for _, l := range layers {
		if !fits(from, l.is) {
			continue
		}
		if fits(to, l.is) && !fitsAny(to, demonstration) {
			return l, true
		}
		if l.is == "internal/demo/caseload/..." {
			return l, fits(to, l.is)
		}
		if fitsAny(to, demonstration) && !fits(from, "executors/...") && !fits(from, "cmd/...") {
			return l, false
		}
		return l, fitsAny(to, l.may)
	}
	return layer{reason: "the package has no layer: give it one in layers_test.go, with its reason"}, false
}

func mayUseEnt(from string) bool {
	return fitsAny(from, []string{"ent/...", "internal/store/...", "internal/cmd/schemaplan/..."})
}

func fitsAny(pkg string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(pkg, p) })
}

// fits reports whether the pattern names the package or a directory above it.
func fits(pkg, pattern string) bool {
	root, deep := strings.CutSuffix(pattern, "/...")
	return pkg == root || deep && strings.HasPrefix(pkg, root+"/")
}

// listedPackage is the output of `go list -json`.
type listedPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// listPackages lists the packages of taskkit.dev of all modules in go.work.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	// -e: a package that does not build is the compiler's to report.
	dec := json.NewDecoder(strings.NewReader(run(t, "go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "work")))
	var packages []listedPackage
	for {
		var p listedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == module || strings.HasPrefix(p.ImportPath, module+"/") {
			packages = append(packages, p)
		}
	}
}

// brought are beginnings of module paths that no module of a user may get by taskkit.
var brought = []string{
	"github.com/rabbitmq/", "github.com/nats-io/", "github.com/twmb/", "github.com/brianvoe/", "github.com/emersion/", "github.com/wneessen/",
	"github.com/xuri/", "github.com/spf13/", "github.com/jedib0t/", "github.com/vbauerster/", "go.opentelemetry.io/",
}

// mounted are what the quickstart gets by the commands for operators in its program.
var mounted = []string{"github.com/spf13/", "github.com/jedib0t/"}

// TestWhatUsersRequire checks that the root module and the module of the quickstart name no broker, no command line but the
// mounted one and nothing else that belongs to the demonstration: what the first names is in the module graph of every user.
func TestWhatUsersRequire(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"go.mod", "go.sum", "docs/quickstart/go.mod", "docs/quickstart/go.sum"} {
		text := string(read(t, name))
		for _, path := range brought {
			if mounts := strings.HasPrefix(name, "docs/quickstart/") && slices.Contains(mounted, path); !mounts && strings.Contains(text, path) {
				t.Errorf("%s names %s: give the package that needs it a module of its own", name, path)
			}
		}
	}
}

// TestModulesAreInAWorkspace checks that each module is in the workspace that the go command finds in its directory: the
// commands of the README and make vet, test and lint work on the modules of go.work. The modules of the benchmarks have
// workspaces of their own, so that what they compare with has no say in the versions of the others.
func TestModulesAreInAWorkspace(t *testing.T) {
	t.Parallel()
	found := 0
	for _, name := range tracked(t) {
		dir, ok := strings.CutSuffix(name, "go.mod")
		if !ok || strings.Contains(name, "testdata/") || dir == "tools/" {
			continue
		}
		found++
		this := strings.Fields(strings.SplitN(string(read(t, name)), "\n", 2)[0])[1]
		if all := strings.Fields(run(t, "go", "list", "-C", "./"+dir, "-m")); !slices.Contains(all, this) {
			t.Errorf("%s: go.work does not use this module: its packages would not be vetted, tested and linted", name)
		}
	}
	if found < 8 {
		t.Errorf("%d modules are found", found)
	}
}
