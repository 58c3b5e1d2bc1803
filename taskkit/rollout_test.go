package taskkit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	one "taskkit.dev/taskkit/testdata/rollout/v1"
	gen1 "taskkit.dev/taskkit/testdata/rollout/v1/gen"
	task1 "taskkit.dev/taskkit/testdata/rollout/v1/gen/enroltask"
	two "taskkit.dev/taskkit/testdata/rollout/v2"
	gen2 "taskkit.dev/taskkit/testdata/rollout/v2/gen"
	task2 "taskkit.dev/taskkit/testdata/rollout/v2/gen/enroltask"
	three "taskkit.dev/taskkit/testdata/rollout/v3"
	gen3 "taskkit.dev/taskkit/testdata/rollout/v3/gen"
	task3 "taskkit.dev/taskkit/testdata/rollout/v3/gen/enroltask"
	four "taskkit.dev/taskkit/testdata/rollout/v4"
	gen4 "taskkit.dev/taskkit/testdata/rollout/v4/gen"
	task4 "taskkit.dev/taskkit/testdata/rollout/v4/gen/membershiptask"
)

// rollout is one database under several releases of one program.
type rollout struct {
	*testing.T
	db     *testdb.DB
	client *taskkit.Client
	people []uuid.UUID
}

// release is a worker of one release. Each person that it deals with costs a
// token, so that a task can be held in its middle.
type release struct {
	name   string
	tokens chan struct{}
	stop   func()
}

// give lets a release process n more people.
func (r *release) give(n int) {
	for range n {
		r.tokens <- struct{}{}
	}
}

// touch is what the executors of all releases do to a person.
func (r *release) touch(ctx context.Context, tx taskkit.ExecQuerier, task taskkit.ID, person uuid.UUID, standing, remark string) error {
	select {
	case <-r.tokens:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO standing (task, person, standing, note, release) VALUES ($1, $2, $3, $4, $5)`,
		task.String(), person.String(), standing, remark, r.name)
	return err
}

// deploy starts a worker of a release.
func (o *rollout) deploy(name string, register func(r *release, to *taskkit.Registry)) *release {
	o.Helper()
	r := &release{name: name, tokens: make(chan struct{}, 1000)}
	var registry taskkit.Registry
	register(r, &registry)
	c := quick(o.T, o.db)
	c.SystemID, c.Drain = name, 100*time.Millisecond
	r.stop = started(o.T, o.db, &registry, c)
	return r
}

func (o *rollout) one() *release {
	return o.deploy("one", func(r *release, to *taskkit.Registry) {
		gen1.Executors{Enrol: &one.Executor{Touch: r.touch}}.Register(to)
	})
}

func (o *rollout) two() *release {
	return o.deploy("two", func(r *release, to *taskkit.Registry) {
		gen2.Executors{Enrol: &two.Executor{Touch: r.touch}}.Register(to)
	})
}

func (o *rollout) three() *release {
	return o.deploy("three", func(r *release, to *taskkit.Registry) {
		gen3.Executors{Enrol: &three.Executor{Touch: r.touch}}.Register(to)
	})
}

func (o *rollout) four() *release {
	return o.deploy("four", func(r *release, to *taskkit.Registry) {
		gen4.Executors{Membership: &four.Executor{Touch: r.touch}}.Register(to)
	})
}

// asks submits, and fails the test with an error.
func (o *rollout) asks(id taskkit.ID, err error) taskkit.ID {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
	return id
}

// here is the option that all submissions need.
func (o *rollout) here() taskkit.SubmitOption { return taskkit.WithSchema(schemaOf(o.db)) }

// reaches waits until so many people of a task have been processed and
// committed.
func (o *rollout) reaches(id taskkit.ID, done int64) {
	o.Helper()
	until(o.T, "the task has reached this progress", func() bool {
		t, err := o.client.Task(o.Context(), id)
		if err != nil {
			o.Fatal(err)
		}
		if t.Ended() {
			o.Fatalf("task %s has ended in %s: %s", id, t.Status, t.StatusDetail)
		}
		return t.Progress.Done >= done
	})
}

// waits fails the test unless a task waits and Explain gives the reason why.
func (o *rollout) waits(id taskkit.ID, why string) {
	o.Helper()
	t, err := o.client.Task(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	if t.Status != taskkit.StatusQueued {
		o.Errorf("task %s is %s, want QUEUED", id, t.Status)
	}
	if told, err := o.client.Explain(o.Context(), id); err != nil || !strings.Contains(told.Text, why) {
		o.Errorf("explained as %q, %v; want %q in it", told, err, why)
	}
}

// completes waits for a task's end and checks that each person was processed once,
// by the given releases, and with the given values.
func (o *rollout) completes(id taskkit.ID, standing, remark string, by ...string) {
	o.Helper()
	t := ended(o.T, o.db, id)
	if t.Status != taskkit.StatusCompleted {
		o.Fatalf("task %s ended in %s: %s", id, t.Status, t.StatusDetail)
	}
	rows, err := o.db.DB.QueryContext(o.Context(), `SELECT person, standing, note, release FROM standing WHERE task = $1`, id.String())
	if err != nil {
		o.Fatal(err)
	}
	defer rows.Close()
	var touched []string
	for rows.Next() {
		var person, s, n, release string
		if err := rows.Scan(&person, &s, &n, &release); err != nil {
			o.Fatal(err)
		}
		touched = append(touched, person)
		if s != standing || n != remark && release != "one" {
			o.Errorf("%s processed a person of task %s as %q, %q; want %q, %q", release, id, s, n, standing, remark)
		}
		if !slices.Contains(by, release) {
			o.Errorf("%s processed a person of task %s, want only %v", release, id, by)
		}
	}
	if err := rows.Err(); err != nil {
		o.Fatal(err)
	}
	slices.Sort(touched)
	var want []string
	for _, p := range o.people {
		want = append(want, p.String())
	}
	slices.Sort(want)
	if !slices.Equal(touched, want) {
		o.Errorf("task %s touched %v, want each once of %v", id, touched, want)
	}
}

// TestRollout shows how four releases of one program follow each other, beside
// each other and backwards, over one database: a field is added, fields are
// renamed through upgrade functions, the kind is renamed through an alias. No
// task is lost, none is run by a worker that cannot read it, and nothing that a
// newer release has stored is dropped by an older one.
func TestRollout(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		if _, err := db.DB.ExecContext(t.Context(), `CREATE TABLE standing (task text, person text, standing text, note text, release text)`); err != nil {
			t.Fatal(err)
		}
		o := &rollout{T: t, db: db, client: clientOf(db)}
		for range 6 {
			o.people = append(o.people, uuid.New())
		}
		ctx := t.Context()

		// Release one runs, and is in the middle of a task.
		first := o.one()
		begun := o.asks(task1.Submit(ctx, db.DB, task1.Spec{People: o.people, Status: "paused"}, o.here(), taskkit.System()))
		first.give(2)
		o.reaches(begun, 2)

		// Release two comes beside it. What its services submit, only its workers run.
		second := o.two()
		noted := o.asks(task2.Submit(ctx, db.DB, task2.Spec{People: o.people, Status: "active", Note: "new"}, o.here(), taskkit.System()))
		second.give(6)
		o.completes(noted, "active", "new", "two")

		// Release one goes; its task goes on under release two, which makes its
		// state one of revision 2.
		first.stop()
		second.give(2)
		o.reaches(begun, 4)
		got, err := task2.Get(ctx, o.client, begun)
		if err != nil {
			t.Fatal(err)
		}
		if got.Task.SpecRevision != 1 || got.Task.Revision != 2 || got.State.Changed != 4 || !slices.Equal(got.State.Trail, []string{"two", "two"}) {
			t.Errorf("in the middle of release two: spec of %d, state of %d: %+v", got.Task.SpecRevision, got.Task.Revision, got.State)
		}
		waiting := o.asks(task2.Submit(ctx, db.DB, task2.Spec{People: o.people, Status: "held", Note: "kept"}, o.here(), taskkit.WithPriority(taskkit.PriorityLow), taskkit.System()))

		// A rollback. Release one runs its own tasks, and leaves alone what two
		// has touched, however long it waits.
		second.stop()
		first = o.one()
		first.give(100)
		own := o.asks(task1.Submit(ctx, db.DB, task1.Spec{People: o.people, Status: "exited"}, o.here(), taskkit.System()))
		o.completes(own, "exited", "", "one")
		o.waits(begun, "revision 2")
		o.waits(waiting, "revision 2")
		var unknown *taskkit.RevisionError
		if _, err := task1.Get(ctx, o.client, begun); !errors.As(err, &unknown) || unknown.Revision != 2 {
			t.Errorf("release one reads a state of revision 2: %v", err)
		}

		// Release three, in which two fields have other names.
		first.stop()
		third := o.three()
		third.give(100)
		o.completes(begun, "paused", "", "one", "two", "three")
		o.completes(waiting, "held", "kept", "three")
		renamed, err := task3.Get(ctx, o.client, begun)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"two", "two", "three", "three"}; renamed.State.Moved != 6 || !slices.Equal(renamed.State.Trail, want) ||
			renamed.Spec.Standing != "paused" || renamed.Task.SpecRevision != 1 || renamed.Task.Revision != 3 {
			t.Errorf("after release three: spec of %d, state of %d: %+v %+v", renamed.Task.SpecRevision, renamed.Task.Revision, renamed.Spec, renamed.State)
		}
		// A service of release one that is still there.
		late := o.asks(task1.Submit(ctx, db.DB, task1.Spec{People: o.people, Status: "late"}, o.here(), taskkit.System()))
		o.completes(late, "late", "", "three")

		// Release four, in which the kind has another name. It runs tasks of both.
		third.stop()
		former := o.asks(task3.Submit(ctx, db.DB, task3.Spec{People: o.people, Standing: "former"}, o.here(), taskkit.System()))
		fourth := o.four()
		fourth.give(100)
		o.completes(former, "former", "", "four")
		latter := o.asks(task4.Submit(ctx, db.DB, task4.Spec{People: o.people, Standing: "latter"}, o.here(), taskkit.System()))
		o.completes(latter, "latter", "", "four")

		// Back to three: it does not know the new name, and its tasks wait.
		fourth.stop()
		stranded := o.asks(task4.Submit(ctx, db.DB, task4.Spec{People: o.people, Standing: "stranded"}, o.here(), taskkit.System()))
		third = o.three()
		third.give(100)
		again := o.asks(task3.Submit(ctx, db.DB, task3.Spec{People: o.people, Standing: "again"}, o.here(), taskkit.System()))
		o.completes(again, "again", "", "three")
		o.waits(stranded, "membership")
		third.stop()
		fourth = o.four()
		fourth.give(100)
		o.completes(stranded, "stranded", "", "four")
	})
}
