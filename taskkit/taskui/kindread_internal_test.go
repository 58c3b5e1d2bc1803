package taskui

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"taskkit.dev/internal/specform"
)

// A row has no more cells than the list has columns: what is beyond them reserves no memory.
func TestCorrections(t *testing.T) {
	t.Parallel()
	r := &request{Request: &http.Request{PostForm: url.Values{
		"fix.seats 2 0": {"A1"}, "fix.seats 3 1": {"7"}, "fix.seats 4 1000": {""}, "fix.seats 5 -1": {""}, "fix.seats 6 x": {""}, "fix.others 7 0": {""},
		"fix.seats 8 0": {"B2"}, "drop.seats 8": {"yes"},
	}}}
	seat := &specform.Field{Type: specform.Group, Fields: []*specform.Field{{Name: "room"}, {Name: "seat"}}}
	want := map[int][]string{2: {"A1"}, 3: {"", "7"}, 8: nil}
	if got := r.corrections(&specform.Field{Name: "seats", Type: specform.List, Item: seat}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	delete(want, 3)
	if got := r.corrections(&specform.Field{Name: "seats", Type: specform.List, Item: &specform.Field{}}); !reflect.DeepEqual(got, want) {
		t.Errorf("of one column: %v, want %v", got, want)
	}
}
