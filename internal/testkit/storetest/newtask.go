package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// newField is how a field of [store.NewTask] is tested.
type newField struct {
	// set sets it; n is 1 in the first submission and 2 in the one that is merged into it. Nil: the field stays as it is.
	set func(t *store.NewTask, n int)
	// read returns it and what is read back. Nil: the field of the same name, except for an unread one.
	read   func(n *store.NewTask, t *store.Task) (want, got any)
	unread string // why it is not read back
	// notMerged is why a merge does not set it; "": it does.
	notMerged string
}

// newFields are the fields of which [plainField] is not the right test.
var newFields = map[string]newField{
	"ID":   {notMerged: "the waiting task keeps its id"},
	"Kind": {},
	"Revision": {set: func(t *store.NewTask, n int) { t.Revision = n }, read: func(n *store.NewTask, t *store.Task) (any, any) {
		return [2]int{n.Revision, n.Revision}, [2]int{t.Revision, t.SpecRevision}
	}},
	"Spec": {set: func(t *store.NewTask, n int) { t.Spec = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }, read: func(n *store.NewTask, t *store.Task) (any, any) {
		return string(n.Spec), string(t.Spec)
	}},
	"Start": {set: func(t *store.NewTask, _ int) { t.Start.Position = 3 }, read: func(n *store.NewTask, t *store.Task) (any, any) {
		return n.Start.Position, t.Progress.Position
	}, notMerged: "not with Reference"},
	"Targets":   {unread: "see insertTargets", notMerged: "not with Reference"},
	"Options":   {unread: "in the plan", notMerged: "not with Reference"},
	"Ledger":    {unread: "it is no column", notMerged: "it is no column"},
	"Owner":     {},
	"RunAs":     {},
	"Actor":     {set: func(t *store.NewTask, _ int) { t.Actor = uuid.New() }, read: func(n *store.NewTask, t *store.Task) (any, any) { return n.Actor, t.CreatedBy }},
	"Queue":     {},
	"Priority":  {set: func(t *store.NewTask, n int) { t.Priority = 5 - 2*n }},
	"NotBefore": {set: func(t *store.NewTask, n int) { t.NotBefore = time.Date(2100, 1, 3-n, 0, 0, 0, 0, time.UTC) }},
	"Delay":     {unread: "not with NotBefore"},
	"Reference": {},
	"Version": {
		set: func(t *store.NewTask, n int) {
			if t.Reference != "" {
				t.Version = new(int64(n))
			}
		},
		read: func(n *store.NewTask, t *store.Task) (any, any) {
			return versionOf(&n.Submitted), versionOf(&t.Submitted)
		},
	},
	"UniqueKey": {set: func(t *store.NewTask, _ int) { t.UniqueKey = "unique" }},
	"IdempotencyKey": {
		set:       func(t *store.NewTask, n int) { t.IdempotencyKey = fmt.Sprint("key", n) },
		notMerged: "the waiting task keeps its key",
	},
	"Total":  {set: func(t *store.NewTask, n int) { t.Total = int64(10 * n) }, read: func(n *store.NewTask, t *store.Task) (any, any) { return n.Total, t.Progress.Total }},
	"Parent": {set: func(t *store.NewTask, _ int) { t.Parent = uuid.New() }, notMerged: "not with Reference"},
}

// versionOf is the version of a task, or -1.
func versionOf(s *store.Submitted) int64 {
	if s.Version == nil {
		return -1
	}
	return *s.Version
}

// plainField is a text, a number or an id that is stored, merged and read as it is.
func plainField(e *env, f reflect.StructField) newField {
	return newField{set: func(t *store.NewTask, n int) {
		v := reflect.ValueOf(t).Elem().FieldByIndex(f.Index)
		switch v.Interface().(type) {
		case string:
			v.SetString(fmt.Sprint(f.Name, n))
		case int, int64:
			v.SetInt(int64(n))
		case uuid.UUID:
			v.Set(reflect.ValueOf(uuid.New()))
		default:
			e.Fatalf("NewTask.%s is a %s: add to newFields of package storetest how it is set and read", f.Name, f.Type)
		}
	}}
}

// insertEveryField: each field of a new task is stored and read back, and a merge sets each
// that it may. A field that is new is tested without further code.
func insertEveryField(e *env) {
	fields := make(map[string]newField)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[store.NewTask]()) {
		given, known := newFields[f.Name]
		switch {
		case f.Anonymous: // its fields are next
			continue
		case !known:
			given = plainField(e, f)
		}
		fields[f.Name] = given
	}
	check := func(how string, n store.NewTask, merged bool) {
		got := e.read(n.ID)
		for name, f := range fields {
			if f.unread != "" || merged && f.notMerged != "" {
				continue
			}
			if f.read == nil {
				f.read = sameField(e, name)
			}
			if want, has := f.read(&n, &got); want != has {
				e.Fatalf("NewTask.%s is lost by %s: %v is read back, want %v", name, how, has, want)
			}
		}
	}
	filled := func(n int, merged bool, t store.NewTask) store.NewTask {
		for _, f := range fields {
			if f.set != nil && (!merged || f.notMerged == "") {
				f.set(&t, n)
			}
		}
		return t
	}
	first := filled(1, false, task())
	first.ID = e.insert(first)[0]
	check("INSERT", first, false)
	many := []store.NewTask{filled(1, false, task()), filled(2, false, task())}
	many[0].UniqueKey, many[1].UniqueKey = "a", "b"
	many[0].IdempotencyKey, many[1].IdempotencyKey = "c", "d"
	for i, id := range e.insert(many...) {
		many[i].ID = id
		check("an INSERT of many", many[i], false)
	}
	of := referring()
	waiting := filled(1, true, of("{}"))
	waiting.UniqueKey = "e"
	id := e.insert(waiting)[0]
	newer := filled(2, true, of("{}"))
	newer.UniqueKey = "e"
	newer.ID = e.insert(newer)[0]
	is(e, "merged", newer.ID, id)
	check("a merge", newer, true)
}

// sameField reads the fields of this name of a new and of a stored task.
func sameField(e *env, name string) func(n *store.NewTask, t *store.Task) (want, got any) {
	return func(n *store.NewTask, t *store.Task) (want, got any) {
		v := reflect.ValueOf(t).Elem().FieldByName(name)
		if !v.IsValid() {
			e.Fatalf("store.Task has no field %s: add it, or say in newFields of package storetest how NewTask.%s is read", name, name)
		}
		want, got = reflect.ValueOf(n).Elem().FieldByName(name).Interface(), v.Interface()
		if at, ok := got.(time.Time); ok {
			got = at.UTC()
		}
		return want, got
	}
}
