package command

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
	"taskkit.dev/taskkit/taskpolicy"
)

var update = flag.Bool("update", false, "write outputs.json")

// values are what commands write, by the name of the schema. Several values are alternatives.
var values = map[string][]any{
	"tasks": {[]listed{}}, "shown": {shown{}}, "task": {taskJSON{}}, "explanation": {taskkit.Explanation{}},
	"started": {taskJSON{}, taskhttp.Job{}}, "request": {taskJSON{}, bulkReport{}},
	"items": {[]taskkit.Item{}}, "buckets": {[]childJSON{}, []skippedBucket{}}, "result": {json.RawMessage{}},
	"kinds": {[]kindJSON{}, []offeredKind{}}, "kind": {kindJSON{}, offeredKind{}}, "workers": {[]taskops.WorkerInfo{}}, "changes": {[]taskops.SettingChange{}}, "doctor": {taskdoctor.Report{}},
	"limits": {[]taskops.LimitUse{}}, "limit": {limitSet{}}, "queues": {[]taskops.QueueInfo{}}, "queue": {taskops.QueueInfo{}},
	"dead": {taskops.DeadGroups{}}, "dead_report": {taskops.DeadReport{}}, "pruned": {pruned{}},
	"schedules": {[]taskops.ScheduleInfo{}}, "schedule": {taskops.ScheduleInfo{}}, "deleted": {deleted{}},
	"refused": {[]intake.RefusedMessage{}}, "redriven": {intake.Redriven{}},
	"migrated": {migrated{}}, "tables": {tables{}}, "sql": {migrationSQL{}}, "version": {version{}}, "schema": {json.RawMessage{}},
}

// schemaFor returns the schema of what a command writes.
func schemaFor(t *testing.T, values []any) *jsonschema.Schema {
	t.Helper()
	text := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }
	id := &jsonschema.Schema{Type: "string", Format: "uuid"}
	given := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, reflect.TypeFor[uuid.UUID](): id, reflect.TypeFor[taskkit.ID](): id,
		reflect.TypeFor[segment.Segment](): {}, reflect.TypeFor[taskpolicy.Strategy](): {}, reflect.TypeFor[taskpolicy.Policies](): {},
		reflect.TypeFor[childNode](): {Ref: "#/$defs/child"}, reflect.TypeFor[error](): text(),
	}
	infer := func(v any) *jsonschema.Schema {
		s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: given})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var s *jsonschema.Schema
	if len(values) == 1 {
		s = infer(values[0])
	} else {
		s = new(jsonschema.Schema)
		for _, v := range values {
			one := infer(v)
			if one.Items != nil { // the list has elements of both
				one = one.Items
			}
			s.AnyOf = append(s.AnyOf, one)
		}
		if reflect.TypeOf(values[0]).Kind() == reflect.Slice {
			s = &jsonschema.Schema{Type: "array", Items: s}
		}
	}
	if _, ok := values[0].(shown); ok {
		child := infer(childJSON{})
		child.Properties["children"] = &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/child"}}
		child.Properties["more"] = &jsonschema.Schema{Type: "integer"}
		s.Defs = map[string]*jsonschema.Schema{"child": child}
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	return s
}

// The schemas that the command prints describe the values that it writes.
func TestSchemas(t *testing.T) {
	t.Parallel()
	all := make(map[string]*jsonschema.Schema)
	for name, v := range values {
		all[name] = schemaFor(t, v)
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("outputs.json", text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text.Bytes(), outputSchemas) {
		t.Error("outputs.json is out of date: run this test with -update")
	}
}

// Every command says what it writes.
func TestWritten(t *testing.T) {
	t.Parallel()
	named := make(map[string]bool)
	for command, name := range written {
		named[name] = true
		if values[name] == nil {
			t.Errorf("%s writes %s, which has no values", command, name)
		}
	}
	if len(named) != len(values) {
		t.Errorf("commands write %d of %d values", len(named), len(values))
	}
	var walk func(prefix string, c *cobra.Command)
	walk = func(prefix string, c *cobra.Command) {
		for _, sub := range c.Commands() {
			path := prefix + sub.Name()
			if written[path] == "" && path != "intake" {
				t.Errorf("%s is not in written: say what it writes with -o json", path)
			}
			walk(path+" ", sub)
		}
	}
	walk("", New(Config{}).Root())
}
