package storetest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// insertOne: every field of a new task comes back, and the rest has its default.
func insertOne(e *env) {
	follows := uuid.New()
	n := task(func(t *store.NewTask) {
		t.Reference, t.Reason, t.UniqueKey, t.IdempotencyKey = "person 7", "asked", "u", "i"
		t.Total, t.Follows, t.Traceparent, t.Priority, t.Revision = 12, follows, "00-1-2-01", 4, 3
		t.Spec = json.RawMessage(`{"b": 1.0, "a": 18446744073709551615, "a": "ü\u0000"}`)
	})
	e.insert(n)
	got := e.read(n.ID)
	is(e, "kind", got.Kind, kind)
	is(e, "spec, as written", string(got.Spec), string(n.Spec))
	is(e, "state", string(got.State), "{}")
	is(e, "status", got.Status, lifecycle.Queued)
	is(e, "owner", got.Owner, n.Owner)
	is(e, "created by", got.CreatedBy, n.Owner)
	is(e, "modified by", got.ModifiedBy, n.Owner)
	is(e, "run as", got.RunAs, n.RunAs)
	is(e, "reference", got.Reference, "person 7")
	is(e, "reason", got.Reason, "asked")
	is(e, "unique key", got.UniqueKey, "u")
	is(e, "idempotency key", got.IdempotencyKey, "i")
	is(e, "progress", got.Progress, lifecycle.Progress{Total: 12})
	is(e, "follows", got.Follows, follows)
	is(e, "traceparent", got.Traceparent, "00-1-2-01")
	is(e, "priority", got.Priority, 4)
	is(e, "revision", got.Revision, 3)
	is(e, "queue", got.Queue, "default")
	is(e, "control", got.Control, lifecycle.None)
	is(e, "fence, seq and attempts", [3]int64{got.Fence, got.Seq, int64(got.Attempts)}, [3]int64{})
	if most := testdb.Patience(e.T); got.Wait > 0 || got.Wait < -most || got.Elapsed < 0 || got.Elapsed > most {
		e.Fatalf("wait %v and elapsed %v by the database's clock", got.Wait, got.Elapsed)
	}
	null := e.one(func(t *store.NewTask) { t.Spec = nil })
	if spec := e.read(null).Spec; spec != nil {
		e.Fatalf("a task without a spec has %q", spec)
	}
	is(e, "total unknown", e.read(null).Progress.Total, -1)
	part := e.one(func(t *store.NewTask) { t.Revision, t.Start.SpecRevision, t.Traceparent = 5, 3, "00-1-2-01" })
	is(e, "revision of the spec of a part with a trace", e.read(part).SpecRevision, 3)
}

// insertMany: more tasks than one statement has parameters for.
func insertMany(e *env) {
	tasks := make([]store.NewTask, 7200) // of nine or ten parameters each
	for i := range tasks {
		tasks[i] = task(func(t *store.NewTask) {
			t.Spec = json.RawMessage(fmt.Sprintf(`{"i": %d}`, i))
			t.Reason, t.Traceparent, t.Follows = fmt.Sprint("r", i), fmt.Sprint("t", i), uuid.New()
			t.Total, t.Priority, t.IdempotencyKey = int64(i), 1+i%4, fmt.Sprint("k", i)
			if i%2 == 0 {
				t.Spec = nil
			}
		})
	}
	e.ok(e.submit(tasks, true))
	is(e, "tasks", e.count(Tasks), len(tasks))
	got := e.read(tasks[7199].ID)
	is(e, "spec", string(got.Spec), `{"i": 7199}`)
	is(e, "reason", got.Reason, "r7199")
	is(e, "owner", got.Owner, tasks[7199].Owner)
	e.ok(e.submit(nil, true))
	// Tasks that differ in little take few parameters, and many statements all
	// the same.
	for i := range tasks {
		tasks[i] = task(func(t *store.NewTask) { t.Owner, t.RunAs = tasks[0].Owner, tasks[0].RunAs })
	}
	e.ok(e.submit(tasks, false))
	is(e, "tasks", e.count(Tasks), 2*len(tasks))
}

// insertTexts: tasks that are stored together keep each byte of their texts, like
// one that is stored alone, even when they need more than one statement.
func insertTexts(e *env) {
	unusual := []string{
		"", `"`, `\\`, `\"\u0041`, "a\tb\nc\rd", "\x01\x1f\x7f\u0080", "\u2028\u2029\ufeff", "\U0001f468\u200d\U0001f469 e\u0301",
		"$1 ?1 :a @b '; --", "null", "[1]", strings.Repeat(`\`, 1001), strings.Repeat("x\n", 600_000),
	}
	specs := []string{
		"null", "0", "-0.0", "1e400", "123456789012345678901234567890", `"\u0041\\u0000\/"`, `{ "b" : 1 , "a" : [ ] , "b" : 2 }`,
		"[\t1 ]", `"` + strings.Repeat("\U0001f4a1", 500_000) + `"`,
	}
	var tasks []store.NewTask
	for i := range max(len(unusual), len(specs)) {
		tasks = append(tasks, task(func(t *store.NewTask) {
			t.Reason, t.Spec = unusual[i%len(unusual)], json.RawMessage(specs[i%len(specs)])
		}))
	}
	e.ok(e.submit(tasks, false))
	for i := range tasks {
		alone := tasks[i]
		alone.ID = uuid.Must(uuid.NewV7())
		e.ok(e.submit([]store.NewTask{alone}, false))
		one, many := e.read(alone.ID), e.read(tasks[i].ID)
		if string(many.Spec) != string(tasks[i].Spec) || string(one.Spec) != string(many.Spec) || one.Reason != many.Reason {
			e.Errorf("stored with others %.80q %.80q, alone %.80q %.80q, of %.80q %.80q", many.Spec, many.Reason, one.Spec, one.Reason, tasks[i].Spec, tasks[i].Reason)
		}
	}
}

// insertActor: who submits a task is its creator and changed it last. Without an
// actor that is the owner, also beside a task that has one.
func insertActor(e *env) {
	actor := uuid.New()
	ids := append(e.insert(task(), task(func(t *store.NewTask) { t.Actor = actor })), e.one(func(t *store.NewTask) { t.Actor = actor }))
	for i, id := range ids {
		got := e.read(id)
		want := [2]uuid.UUID{actor, actor}
		if i == 0 {
			want = [2]uuid.UUID{got.Owner, got.Owner}
		}
		is(e, fmt.Sprint("created and modified by, task ", i), [2]uuid.UUID{got.CreatedBy, got.ModifiedBy}, want)
		if got.Owner == actor {
			e.Fatalf("task %d belongs to who submitted it", i)
		}
	}
}

// insertDuplicate: a key that is taken is reported, with its first task, and leaves the
// transaction usable.
func insertDuplicate(e *env) {
	first := e.one(func(t *store.NewTask) { t.UniqueKey, t.IdempotencyKey = "u", "i" })
	for _, c := range []struct {
		column string
		change func(*store.NewTask)
	}{
		{"unique_key", func(t *store.NewTask) { t.UniqueKey = "u" }},
		{"idempotency_key", func(t *store.NewTask) { t.IdempotencyKey = "i" }},
		{"unique_key", func(t *store.NewTask) { t.UniqueKey = "u"; t.Reference = "r" }},
	} {
		e.together(func(submit func([]store.NewTask, bool) error) {
			err := submit([]store.NewTask{task(c.change)}, true)
			var dup *store.DuplicateError
			if !errors.As(err, &dup) || dup.ID != first || dup.Column != c.column || dup.Kind != kind {
				e.Fatalf("%s: got %v, want the duplicate of %s", c.column, err, first)
			}
			e.ok(submit([]store.NewTask{task()}, false))
		})
	}
	is(e, "tasks", e.count(Tasks), 4)

	// Another kind has keys of its own.
	e.one(func(t *store.NewTask) { t.Kind = "other"; t.UniqueKey, t.IdempotencyKey = "u", "i" })

	// In many, all or none.
	err := e.submit([]store.NewTask{task(), task(func(t *store.NewTask) { t.UniqueKey = "u" })}, false)
	var dup *store.DuplicateError
	if !errors.As(err, &dup) || dup.ID != first {
		e.Fatalf("one of two: got %v, want the duplicate of %s", err, first)
	}
	is(e, "tasks after one of two", e.count(Tasks), 5)

	// An ended task frees its unique key, and keeps its idempotency key.
	e.registerWorker()
	_, err = e.request(first, lifecycle.ActStop)
	e.ok(err)
	e.one(func(t *store.NewTask) { t.UniqueKey = "u" })
	err = e.submit([]store.NewTask{task(func(t *store.NewTask) { t.IdempotencyKey = "i" })}, false)
	if !errors.As(err, &dup) || dup.ID != first {
		e.Fatalf("an idempotency key after the end: got %v, want the duplicate of %s", err, first)
	}
}

// execer is a handle that can execute and nothing else.
type execer struct{ db *sql.DB }

func (e execer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return e.db.ExecContext(ctx, query, args...)
}

// insertExecerOnly: a handle that cannot query is enough, except for a reference.
func insertExecerOnly(e *env) {
	h := execer{e.submitter.DB}
	n := task(func(t *store.NewTask) { t.UniqueKey = "u" })
	e.ok(store.Insert(e.ctx(), h, e.db.Schema, []store.NewTask{n}, true))
	is(e, "status", e.read(n.ID).Status, lifecycle.Queued)
	var dup *store.DuplicateError
	err := store.Insert(e.ctx(), h, e.db.Schema, []store.NewTask{task(func(t *store.NewTask) { t.UniqueKey = "u" })}, true)
	if !errors.As(err, &dup) || dup.ID != uuid.Nil || dup.Key != "u" {
		e.Fatalf("got %v, want a duplicate of nobody in particular", err)
	}
	err = store.Insert(e.ctx(), h, e.db.Schema, []store.NewTask{task(func(t *store.NewTask) { t.Reference = "r" })}, true)
	if !errors.Is(err, store.ErrCannotQuery) {
		e.Fatalf("got %v, want ErrCannotQuery", err)
	}
}

// insertRollback: what is submitted to a transaction exists if it commits.
func insertRollback(e *env) {
	tx, err := e.submitter.BeginTx(e.ctx(), nil)
	e.ok(err)
	n := task()
	e.ok(store.Insert(e.ctx(), tx, e.db.Schema, []store.NewTask{n, task()}, true))
	e.ok(tx.Rollback())
	e.gone(n.ID)
	is(e, "tasks", e.count(Tasks), 0)
}

// insertTimes: a time and a delay, by the database's clock.
func insertTimes(e *env) {
	at := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
	got := e.read(e.one(func(t *store.NewTask) { t.NotBefore = at }))
	if !got.NotBefore.Equal(at) {
		e.Fatalf("not before %v, want %v", got.NotBefore, at)
	}
	ids := e.insert(task(func(t *store.NewTask) { t.Delay = 90 * time.Minute }), task())
	if w := e.read(ids[0]).Wait; w <= 60*time.Minute || w > 90*time.Minute {
		e.Fatalf("waits %v, want 90s less what has passed", w)
	}
	if w := e.read(ids[1]).Wait; w > 0 {
		e.Fatalf("waits %v beside a delayed one, want none", w)
	}
	past := e.read(e.one(func(t *store.NewTask) { t.NotBefore = time.Date(2001, 2, 3, 4, 5, 6, 789e6, time.FixedZone("x", 3600)) }))
	is(e, "past", past.NotBefore.UTC().Format(time.RFC3339Nano), "2001-02-03T03:05:06.789Z")
}

// insertRefused: what one database would refuse and the other cut off.
func insertRefused(e *env) {
	for name, change := range map[string]func(*store.NewTask){
		"NUL in a key":        func(t *store.NewTask) { t.UniqueKey = "a\x00b" },
		"bad UTF-8 in a key":  func(t *store.NewTask) { t.IdempotencyKey = "a\xff" },
		"NUL in a reference":  func(t *store.NewTask) { t.Reference = "\x00" },
		"a time and a delay":  func(t *store.NewTask) { t.NotBefore = time.Now(); t.Delay = time.Second },
		"a priority too many": func(t *store.NewTask) { t.Priority = 5 },
	} {
		if err := e.submit([]store.NewTask{task(change)}, false); err == nil {
			e.Fatalf("%s: stored", name)
		}
	}
	if e.db == nil {
		e.Log("no schema without SQL")
	} else if err := store.Insert(e.ctx(), e.db.DB, `x"; DROP TABLE y; --`, []store.NewTask{task()}, false); err == nil {
		e.Fatal("a schema with a quote: accepted")
	}
	is(e, "tasks", e.count(Tasks), 0)
	// A reason is a text: it is made storable.
	id := e.one(func(t *store.NewTask) { t.Reason = "a\x00b\xff" + strings.Repeat("c", 1<<20) })
	if r := e.read(id).Reason; !strings.HasPrefix(r, "a\uFFFDb\uFFFDccc") || len(r) > 1<<16 {
		e.Fatalf("reason of %d bytes beginning %q", len(r), r[:10])
	}
}
