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

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// insertOne: every field of a new task comes back, and the rest has its default.
func insertOne(b *bed) {
	parent := uuid.New()
	n := task(func(t *store.NewTask) {
		t.Reference, t.Reason, t.UniqueKey, t.IdempotencyKey = "person 7", "asked", "u", "i"
		t.Total, t.Parent, t.Traceparent, t.Priority, t.Revision = 12, parent, "00-1-2-01", 4, 3
		t.Spec = json.RawMessage(`{"b": 1.0, "a": 18446744073709551615, "a": "ü\u0000"}`)
	})
	b.insert(n)
	got := b.read(n.ID)
	is(b, "kind", got.Kind, kind)
	is(b, "spec, as written", string(got.Spec), string(n.Spec))
	is(b, "state", string(got.State), "{}")
	is(b, "status", got.Status, workflow.Queued)
	is(b, "owner", got.Owner, n.Owner)
	is(b, "created by", got.CreatedBy, n.Owner)
	is(b, "modified by", got.ModifiedBy, n.Owner)
	is(b, "run as", got.RunAs, n.RunAs)
	is(b, "reference", got.Reference, "person 7")
	is(b, "reason", got.Reason, "asked")
	is(b, "unique key", got.UniqueKey, "u")
	is(b, "idempotency key", got.IdempotencyKey, "i")
	is(b, "progress", got.Progress, store.Progress{Total: 12})
	is(b, "parent", got.Parent, parent)
	is(b, "traceparent", got.Traceparent, "00-1-2-01")
	is(b, "priority", got.Priority, 4)
	is(b, "revision", got.Revision, 3)
	is(b, "queue", got.Queue, "default")
	is(b, "control", got.Control, workflow.None)
	is(b, "fence, seq and attempts", [3]int64{got.Fence, got.Seq, int64(got.Attempts)}, [3]int64{})
	if got.Wait > 0 || got.Wait < -within || got.Elapsed < 0 || got.Elapsed > within {
		b.Fatalf("wait %v and elapsed %v by the database's clock", got.Wait, got.Elapsed)
	}
	null := b.one(func(t *store.NewTask) { t.Spec = nil })
	if spec := b.read(null).Spec; spec != nil {
		b.Fatalf("a task without a spec has %q", spec)
	}
	is(b, "total unknown", b.read(null).Progress.Total, -1)
}

// insertMany: more tasks than one statement has parameters for.
func insertMany(b *bed) {
	tasks := make([]store.NewTask, 7200) // of nine or ten parameters each
	for i := range tasks {
		tasks[i] = task(func(t *store.NewTask) {
			t.Spec = json.RawMessage(fmt.Sprintf(`{"i": %d}`, i))
			t.Reason, t.Traceparent, t.Parent = fmt.Sprint("r", i), fmt.Sprint("t", i), uuid.New()
			t.Total, t.Priority, t.IdempotencyKey = int64(i), 1+i%4, fmt.Sprint("k", i)
			if i%2 == 0 {
				t.Spec = nil
			}
		})
	}
	b.ok(b.submit(tasks, true))
	is(b, "tasks", b.count("SELECT count(*) FROM taskkit_queued_task"), len(tasks))
	got := b.read(tasks[7199].ID)
	is(b, "spec", string(got.Spec), `{"i": 7199}`)
	is(b, "reason", got.Reason, "r7199")
	is(b, "owner", got.Owner, tasks[7199].Owner)
	b.ok(b.submit(nil, true))
	// Tasks that differ in little take few parameters, and many statements all
	// the same.
	for i := range tasks {
		tasks[i] = task(func(t *store.NewTask) { t.Owner, t.RunAs = tasks[0].Owner, tasks[0].RunAs })
	}
	b.ok(b.submit(tasks, false))
	is(b, "tasks", b.count("SELECT count(*) FROM taskkit_queued_task"), 2*len(tasks))
}

// insertTexts: tasks that are stored together keep each byte of their texts, as
// one that is stored alone, also when they are more than one statement takes.
func insertTexts(b *bed) {
	texts := []string{
		"", `"`, `\\`, `\"\u0041`, "a\tb\nc\rd", "\x01\x1f\x7f\u0080", "\u2028\u2029\ufeff", "\U0001f468\u200d\U0001f469 e\u0301",
		"$1 ?1 :a @b '; --", "null", "[1]", strings.Repeat(`\`, 1001), strings.Repeat("x\n", 600_000),
	}
	specs := []string{
		"null", "0", "-0.0", "1e400", "123456789012345678901234567890", `"\u0041\\u0000\/"`, `{ "b" : 1 , "a" : [ ] , "b" : 2 }`,
		"[\t1 ]", `"` + strings.Repeat("\U0001f4a1", 500_000) + `"`,
	}
	var tasks []store.NewTask
	for i := range max(len(texts), len(specs)) {
		tasks = append(tasks, task(func(t *store.NewTask) {
			t.Reason, t.Spec = texts[i%len(texts)], json.RawMessage(specs[i%len(specs)])
		}))
	}
	b.ok(b.submit(tasks, false))
	for i := range tasks {
		alone := tasks[i]
		alone.ID = uuid.Must(uuid.NewV7())
		b.ok(b.submit([]store.NewTask{alone}, false))
		one, many := b.read(alone.ID), b.read(tasks[i].ID)
		if string(many.Spec) != string(tasks[i].Spec) || string(one.Spec) != string(many.Spec) || one.Reason != many.Reason {
			b.Errorf("stored with others %.80q %.80q, alone %.80q %.80q, of %.80q %.80q", many.Spec, many.Reason, one.Spec, one.Reason, tasks[i].Spec, tasks[i].Reason)
		}
	}
}

// insertDuplicate: a key that is taken is said, with its holder, and leaves the
// transaction usable.
func insertDuplicate(b *bed) {
	holder := b.one(func(t *store.NewTask) { t.UniqueKey, t.IdempotencyKey = "u", "i" })
	for _, c := range []struct {
		column string
		change func(*store.NewTask)
	}{
		{"unique_key", func(t *store.NewTask) { t.UniqueKey = "u" }},
		{"idempotency_key", func(t *store.NewTask) { t.IdempotencyKey = "i" }},
		{"unique_key", func(t *store.NewTask) { t.UniqueKey = "u"; t.Reference = "r" }},
	} {
		b.together(func(submit func([]store.NewTask, bool) error) {
			err := submit([]store.NewTask{task(c.change)}, true)
			var dup *store.DuplicateError
			if !errors.As(err, &dup) || dup.ID != holder || dup.Column != c.column || dup.Kind != kind {
				b.Fatalf("%s: got %v, want the duplicate of %s", c.column, err, holder)
			}
			b.ok(submit([]store.NewTask{task()}, false))
		})
	}
	is(b, "tasks", b.count("SELECT count(*) FROM taskkit_queued_task"), 4)

	// Another kind has keys of its own.
	b.one(func(t *store.NewTask) { t.Kind = "other"; t.UniqueKey, t.IdempotencyKey = "u", "i" })

	// In many, all or none.
	err := b.submit([]store.NewTask{task(), task(func(t *store.NewTask) { t.UniqueKey = "u" })}, false)
	var dup *store.DuplicateError
	if !errors.As(err, &dup) || dup.ID != holder {
		b.Fatalf("one of two: got %v, want the duplicate of %s", err, holder)
	}
	is(b, "tasks after one of two", b.count("SELECT count(*) FROM taskkit_queued_task"), 5)

	// An ended task frees its unique key, and keeps its idempotency key.
	b.enrol()
	_, err = b.request(holder, store.ActStop)
	b.ok(err)
	b.one(func(t *store.NewTask) { t.UniqueKey = "u" })
	err = b.submit([]store.NewTask{task(func(t *store.NewTask) { t.IdempotencyKey = "i" })}, false)
	if !errors.As(err, &dup) || dup.ID != holder {
		b.Fatalf("an idempotency key after the end: got %v, want the duplicate of %s", err, holder)
	}
}

// execer is a handle that can execute and nothing else.
type execer struct{ db *sql.DB }

func (e execer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return e.db.ExecContext(ctx, query, args...)
}

// insertExecerOnly: a handle that cannot ask is enough, but for a reference.
func insertExecerOnly(b *bed) {
	h := execer{b.db.DB}
	n := task(func(t *store.NewTask) { t.UniqueKey = "u" })
	b.ok(store.Insert(b.ctx(), h, b.db.Schema, []store.NewTask{n}, true))
	is(b, "status", b.read(n.ID).Status, workflow.Queued)
	var dup *store.DuplicateError
	err := store.Insert(b.ctx(), h, b.db.Schema, []store.NewTask{task(func(t *store.NewTask) { t.UniqueKey = "u" })}, true)
	if !errors.As(err, &dup) || dup.ID != uuid.Nil || dup.Key != "u" {
		b.Fatalf("got %v, want a duplicate of nobody in particular", err)
	}
	err = store.Insert(b.ctx(), h, b.db.Schema, []store.NewTask{task(func(t *store.NewTask) { t.Reference = "r" })}, true)
	if !errors.Is(err, store.ErrCannotAsk) {
		b.Fatalf("got %v, want ErrCannotAsk", err)
	}
}

// insertRollback: what is submitted to a transaction exists if it commits.
func insertRollback(b *bed) {
	tx, err := b.db.BeginTx(b.ctx(), nil)
	b.ok(err)
	n := task()
	b.ok(store.Insert(b.ctx(), tx, b.db.Schema, []store.NewTask{n, task()}, true))
	b.ok(tx.Rollback())
	b.gone(n.ID)
	is(b, "tasks", b.count("SELECT count(*) FROM taskkit_queued_task"), 0)
}

// insertCoalesce: CER-14. A waiting task that was never claimed is replaced and
// keeps its id; any other is left alone.
func insertCoalesce(b *bed) {
	b.enrol()
	ref := func(t *store.NewTask) { t.Reference = "person 7" }
	id := b.one(ref, func(t *store.NewTask) { t.Delay = time.Hour; t.Reason = "old" })
	replace := []store.NewTask{task(ref, func(t *store.NewTask) {
		t.Spec, t.Reason, t.Priority, t.Revision = json.RawMessage(`{"n": 2}`), "new", 1, 2
	})}
	b.ok(b.submit(replace, true))
	is(b, "id", replace[0].ID, id)
	got := b.read(id)
	is(b, "spec", string(got.Spec), `{"n": 2}`)
	is(b, "reason, priority, revision", fmt.Sprint(got.Reason, got.Priority, got.Revision), "new1 2")
	if got.Wait > 0 {
		b.Fatalf("due in %v, want now", got.Wait)
	}
	// Other references, other kinds.
	b.one(func(t *store.NewTask) { t.Reference = "person 8"; t.Delay = time.Hour })
	b.one(ref, func(t *store.NewTask) { t.Kind = "other" })
	// Once claimed it is a task of its own, even back in the queue.
	again := []store.NewTask{task(ref, func(t *store.NewTask) { t.Revision = 1 })}
	b.ok(b.submit(again, false))
	is(b, "id", again[0].ID, id)
	c := b.claim(1)
	is(b, "claimed", c[0].ID, id)
	second := b.one(ref)
	if second == id {
		b.Fatal("a task in flight was replaced")
	}
	b.apply(store.Write{Hold: c[0].Hold, To: workflow.Queued})
	third := []store.NewTask{task(ref)}
	b.ok(b.submit(third, false))
	is(b, "third", third[0].ID, second)
	is(b, "first's spec", string(b.read(id).Spec), `{"n": 1}`)
}

// insertTimes: a time and a delay, by the database's clock.
func insertTimes(b *bed) {
	at := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
	got := b.read(b.one(func(t *store.NewTask) { t.NotBefore = at }))
	if !got.NotBefore.Equal(at) {
		b.Fatalf("not before %v, want %v", got.NotBefore, at)
	}
	ids := b.insert(task(func(t *store.NewTask) { t.Delay = 90 * time.Second }), task())
	if w := b.read(ids[0]).Wait; w <= 60*time.Second || w > 90*time.Second {
		b.Fatalf("waits %v, want 90s less what has passed", w)
	}
	if w := b.read(ids[1]).Wait; w > 0 {
		b.Fatalf("waits %v beside a delayed one, want none", w)
	}
	past := b.read(b.one(func(t *store.NewTask) { t.NotBefore = time.Date(2001, 2, 3, 4, 5, 6, 789e6, time.FixedZone("x", 3600)) }))
	is(b, "past", past.NotBefore.UTC().Format(time.RFC3339Nano), "2001-02-03T03:05:06.789Z")
}

// insertRefused: what one database would refuse and the other cut off.
func insertRefused(b *bed) {
	for name, change := range map[string]func(*store.NewTask){
		"NUL in a key":        func(t *store.NewTask) { t.UniqueKey = "a\x00b" },
		"bad UTF-8 in a key":  func(t *store.NewTask) { t.IdempotencyKey = "a\xff" },
		"NUL in a reference":  func(t *store.NewTask) { t.Reference = "\x00" },
		"a time and a delay":  func(t *store.NewTask) { t.NotBefore = time.Now(); t.Delay = time.Second },
		"a priority too many": func(t *store.NewTask) { t.Priority = 5 },
	} {
		if err := b.submit([]store.NewTask{task(change)}, false); err == nil {
			b.Fatalf("%s: stored", name)
		}
	}
	if b.db.DB == nil {
		b.Log("no schema without SQL")
	} else if err := store.Insert(b.ctx(), b.db.DB, `x"; DROP TABLE y; --`, []store.NewTask{task()}, false); err == nil {
		b.Fatal("a schema with a quote: accepted")
	}
	is(b, "tasks", b.count("SELECT count(*) FROM taskkit_queued_task"), 0)
	// A reason is a text: it is made storable.
	id := b.one(func(t *store.NewTask) { t.Reason = "a\x00b\xff" + strings.Repeat("c", 1<<20) })
	if r := b.read(id).Reason; !strings.HasPrefix(r, "a\uFFFDb\uFFFDccc") || len(r) > 1<<16 {
		b.Fatalf("reason of %d bytes beginning %q", len(r), r[:10])
	}
}
