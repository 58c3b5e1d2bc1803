package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// newField is a field of [store.NewTask]: values of it for a new task and for another that
// is merged into it, and how it is read back.
type newField struct {
	set  func(t *store.NewTask, n int) // n is 1 in the first submission, 2 in the merged one
	read func(n *store.NewTask, t *store.Task) (want, got any)
	// notMerged is why a merge does not set it; "": it does.
	notMerged string
}

// newFields are all of them. A field that is missing here is lost in silence by the INSERT, a
// merge, the double in memory or a reader.
var newFields = map[string]newField{
	"ID":   {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.ID, t.ID }, "the waiting task keeps its id"},
	"Kind": {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.Kind, t.Kind }, ""},
	"Revision": {func(t *store.NewTask, n int) { t.Revision = n }, func(n *store.NewTask, t *store.Task) (any, any) {
		return [2]int{n.Revision, n.Revision}, [2]int{t.Revision, t.SpecRevision}
	}, ""},
	"Spec": {func(t *store.NewTask, n int) { t.Spec = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)) }, func(n *store.NewTask, t *store.Task) (any, any) {
		return string(n.Spec), string(t.Spec)
	}, ""},
	"Start": {func(t *store.NewTask, _ int) { t.Start.Position = 3 }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.Start.Position, t.Progress.Position
	}, "not with Reference"},
	"TargetsField": {func(t *store.NewTask, n int) { t.TargetsField = fmt.Sprint("list", n) }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.TargetsField, t.TargetsField
	}, ""},
	"Targets": {nil, nil, "not with Reference"}, // see insertTargets
	"Options": {nil, nil, "not with Reference"}, // in the plan
	"Ledger":  {nil, nil, "it is no column"},
	"Secrets": {func(t *store.NewTask, n int) { t.Secrets = fmt.Sprint("/spec/", n) }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Secrets, t.Secrets }, ""},
	"Owner":   {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.Owner, t.Owner }, ""},
	"RunAs":   {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.RunAs, t.RunAs }, ""},
	"Actor":   {func(t *store.NewTask, _ int) { t.Actor = uuid.New() }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Actor, t.CreatedBy }, ""},
	"Queue":   {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.Queue, t.Queue }, ""},
	"Priority": {func(t *store.NewTask, n int) { t.Priority = 2 + n }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.Priority, t.Priority
	}, ""},
	"NotBefore": {func(t *store.NewTask, n int) { t.NotBefore = time.Date(2100, 1, 3-n, 0, 0, 0, 0, time.UTC) }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.NotBefore, t.NotBefore.UTC()
	}, ""},
	"Delay":     {nil, nil, "not with NotBefore"},
	"Reference": {nil, func(n *store.NewTask, t *store.Task) (any, any) { return n.Reference, t.Reference }, ""},
	"Reason":    {func(t *store.NewTask, n int) { t.Reason = fmt.Sprint("reason ", n) }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Reason, t.Reason }, ""},
	"UniqueKey": {func(t *store.NewTask, _ int) { t.UniqueKey = "unique" }, func(n *store.NewTask, t *store.Task) (any, any) { return n.UniqueKey, t.UniqueKey }, ""},
	"IdempotencyKey": {func(t *store.NewTask, n int) { t.IdempotencyKey = fmt.Sprint("key", n) }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.IdempotencyKey, t.IdempotencyKey
	}, "the waiting task keeps its key"},
	"Total":   {func(t *store.NewTask, n int) { t.Total = int64(10 * n) }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Total, t.Progress.Total }, ""},
	"Parent":  {func(t *store.NewTask, _ int) { t.Parent = uuid.New() }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Parent, t.Parent }, "not with Reference"},
	"Follows": {func(t *store.NewTask, _ int) { t.Follows = uuid.New() }, func(n *store.NewTask, t *store.Task) (any, any) { return n.Follows, t.Follows }, ""},
	"Traceparent": {func(t *store.NewTask, n int) { t.Traceparent = fmt.Sprintf("00-1-2-0%d", n) }, func(n *store.NewTask, t *store.Task) (any, any) {
		return n.Traceparent, t.Traceparent
	}, ""},
}

// insertEveryField: each field of a new task is stored and read back, and a merge sets each
// that it may.
func insertEveryField(e *env) {
	for field := range reflect.TypeFor[store.NewTask]().Fields() {
		name := field.Name
		if _, known := newFields[name]; !known {
			e.Fatalf("NewTask.%s is not in newFields of package storetest: add how it is read, and whether a merge sets it", name)
		}
	}
	check := func(how string, n store.NewTask, merged bool) {
		got := e.read(n.ID)
		for name, f := range newFields {
			if f.read == nil || merged && f.notMerged != "" {
				continue
			}
			if want, has := f.read(&n, &got); want != has {
				e.Fatalf("NewTask.%s is lost by %s: %v is read back, want %v", name, how, has, want)
			}
		}
	}
	filled := func(n int, merged bool, t store.NewTask) store.NewTask {
		for _, f := range newFields {
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
