package session

import (
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/store"
)

// What was recorded since a mark is undone, also where it replaced something, and
// marks are nested.
func TestOutcomesUndo(t *testing.T) {
	t.Parallel()
	var o outcomes
	record := func(items ...string) {
		for _, i := range items {
			o.record(store.Item{Key: i[:1], Code: i[1:]})
		}
	}
	check := func(when, want string) {
		t.Helper()
		var got []string
		for n, i := range o.items {
			got = append(got, i.Key+i.Code)
			if o.at[i.Key] != n {
				t.Errorf("%s: %s is at %d, found at %d", when, i.Key, n, o.at[i.Key])
			}
		}
		if text := strings.Join(got, " "); text != want || len(o.at) != len(o.items) {
			t.Errorf("%s: %s with %d keys, want %s", when, text, len(o.at), want)
		}
	}
	record("a1", "b1", "a2")
	id := o.items[0].ID
	outer := o.mark()
	record("b2", "c1")
	inner := o.mark()
	record("c2", "a3", "d1", "b3", "a4")
	check("recorded", "a4 b3 c2 d1")
	o.undo(inner)
	check("inner undone", "a2 b2 c1")
	inner = o.mark()
	record("c3", "a5", "e1")
	o.keep(inner)
	check("inner kept", "a5 b2 c3 e1")
	o.undo(outer)
	check("outer undone", "a2 b1")
	if o.items[0].ID != id {
		t.Error("an item that was replaced has another id")
	}
	outer = o.mark()
	record("a6")
	o.keep(outer)
	record("a7", "f1")
	check("kept", "a7 b1 f1")
	if len(o.replaced) != 0 || o.marked != 0 {
		t.Errorf("%d replacements and mark %d without a mark", len(o.replaced), o.marked)
	}
	for i := range 1000 {
		o.record(store.Item{Key: "a", Code: fmt.Sprint(i)})
	}
	if len(o.replaced) != 0 {
		t.Errorf("%d replacements without a mark", len(o.replaced))
	}
}

// What undoSucceeded forgets is that items succeeded; other outcomes stay, and an outer
// mark can still be undone.
func TestOutcomesUndoSucceeded(t *testing.T) {
	t.Parallel()
	var o outcomes
	record := func(items ...string) {
		for _, i := range items {
			outcome := store.ItemFailed
			if i[0] == '+' {
				outcome = store.ItemSucceeded
			}
			o.record(store.Item{Key: i[1:2], Code: i[2:], Outcome: outcome})
		}
	}
	check := func(when, want string) {
		t.Helper()
		var got []string
		for n, i := range o.items {
			got = append(got, map[bool]string{true: "+", false: "-"}[i.Outcome == store.ItemSucceeded]+i.Key+i.Code)
			if o.at[i.Key] != n {
				t.Errorf("%s: %s is at %d, found at %d", when, i.Key, n, o.at[i.Key])
			}
		}
		if text := strings.Join(got, " "); text != want || len(o.at) != len(o.items) {
			t.Errorf("%s: %s with %d keys, want %s", when, text, len(o.at), want)
		}
	}
	record("+a1", "-b1", "+c1")
	outer := o.mark()
	record("+d1", "+e1")
	inner := o.mark()
	record("-a2", "+b2", "-c2", "+c3", "+f1", "-g1", "-d2", "+h1", "-h2")
	deepest := o.mark()
	record("+g2", "-f2", "+i1")
	o.keep(deepest)
	check("recorded", "-a2 +b2 +c3 -d2 +e1 -f2 +g2 -h2 +i1")
	o.undoSucceeded(inner)
	check("inner undone", "-a2 -b1 +c1 -d2 +e1 -f2 -h2")
	record("-c4", "+j1")
	o.undo(outer)
	check("outer undone", "+a1 -b1 +c1")
	if rows, succeeded := o.split(); len(rows) != 1 || rows[0].Key != "b" || strings.Join(succeeded, "") != "ac" {
		t.Errorf("rows %v and succeeded %v, want b, and a and c", rows, succeeded)
	}
	if len(o.replaced) != 0 || o.marked != 0 {
		t.Errorf("%d replacements and mark %d without a mark", len(o.replaced), o.marked)
	}
}
