package taskbulk

import (
	"reflect"
	"testing"

	"taskkit.dev/taskkit"
)

// A new field of a filter must not be forgotten here: with that field alone a filter would select all tasks.
func TestEveryFieldOfFilters(t *testing.T) {
	t.Parallel()
	for field := range reflect.TypeFor[taskkit.Filter]().Fields() {
		var f taskkit.Filter
		v := reflect.ValueOf(&f).Elem().FieldByIndex(field.Index)
		switch v.Kind() { //nolint:exhaustive // a filter has no other kinds of fields; one that it gets fails below
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString("x")
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			if v.Index(0).Kind() == reflect.String {
				v.Index(0).SetString("x")
			}
		case reflect.Array:
			v.Index(0).SetUint(1)
		}
		if v.IsZero() {
			t.Fatalf("this test cannot set %s", field.Name)
		}
		switch field.Name {
		case "Before", "Limit": // refused
		case "Children":
			if !isEmpty(&f) {
				t.Error("Children alone selects every task, and the filter is not empty")
			}
		default:
			if isEmpty(&f) {
				t.Errorf("a filter with %s is empty", field.Name)
			}
			if got := describe(f); got == "all" {
				t.Errorf("a filter with %s is described as %q", field.Name, got)
			}
		}
	}
}
