package store

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTaskColumns: each field of a Submitted has a line in taskColumns, by which it is stored and read.
func TestTaskColumns(t *testing.T) {
	t.Parallel()
	var s Submitted
	read := make(map[uintptr]bool)
	for _, to := range s.Targets(nil) {
		v := reflect.ValueOf(to)
		if v.Kind() == reflect.Struct { // a scanner
			v = v.Field(0)
		}
		read[v.Pointer()] = true
	}
	v := reflect.ValueOf(&s).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !read[v.Field(i).Addr().Pointer()] {
			t.Errorf("Submitted.%s has no line in taskColumns: it is neither stored, nor merged, nor read", name)
		}
	}
	if n := len(SubmittedColumns()); n != v.NumField() {
		t.Errorf("%d columns are read into %d fields of Submitted", n, v.NumField())
	}
	if len(taskColumns) > 64 {
		t.Errorf("%d columns: an insertPlan has 64 bits", len(taskColumns))
	}
}

// TestMergeClauses: a merge gives each column once, and each of its parameters is used.
func TestMergeClauses(t *testing.T) {
	t.Parallel()
	set, params := mergeClauses(3)
	if strings.ContainsAny(strings.ReplaceAll(set, "'{}'", ""), "{}") {
		t.Errorf("a column that is named in a merge has no parameter: %s", set)
	}
	if !strings.Contains(set, "codec_revision = $4") || !strings.Contains(set, "CAST($4 AS integer)") || !slices.Contains(params, actorColumn) {
		t.Errorf("%d parameters: %s", len(params), set)
	}
}
