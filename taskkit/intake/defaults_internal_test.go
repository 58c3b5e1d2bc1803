package intake

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// TestDefaults: a default of [Config] is what the documentation says, and a field without one says nothing of it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	defaults := map[string]struct {
		text string
		want any
	}{
		"BatchSize":       {"100", 100},
		"CallTimeout":     {"10 s", 10 * time.Second},
		"Log":             {"slog.Default", slog.Default()},
		"MaxBody":         {"1 MiB", 1 << 20},
		"MaxHold":         {"30 s", 30 * time.Second},
		"MaxTries":        {"10", 10},
		"NotBeforeHeader": {`"nbf"; "-" for none`, "nbf"},
		"Observe":         {"none", nil},
		"Remember":        {"14 days", 14 * 24 * time.Hour},
		"Retry":           {"200 ms", 200 * time.Millisecond},
		"Schema":          {"[taskkit.DefaultSchema]", taskkit.DefaultSchema},
	}
	docs := documented(t)
	got := reflect.ValueOf(Config{}.withDefaults())
	for f := range got.Type().Fields() {
		d := defaults[f.Name]
		_, after, stated := strings.Cut(docs[f.Name], "efaults to ")
		if stated != (d.text != "") || stated && strings.TrimSuffix(after, ".") != d.text {
			t.Errorf("the documentation of Config.%s says that it defaults to %q, want %q", f.Name, after, d.text)
		}
		switch v := got.FieldByIndex(f.Index); {
		case d.want == nil && !v.IsZero():
			t.Errorf("Config.%s defaults to %v, want its zero value", f.Name, v)
		case d.want != nil && !reflect.DeepEqual(v.Interface(), d.want):
			t.Errorf("Config.%s defaults to %v, want %v", f.Name, v, d.want)
		}
	}
}

// documented returns the comment of each field of Config.
func documented(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := make(map[string]string)
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Config" {
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					docs[field.Names[0].Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
				}
			}
		}
		return true
	})
	return docs
}
