package taskhttp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// linked are the calls of a job that its links may name, with a body.
var linked = []struct{ name, method, below, body string }{
	{"self", "GET", "", ""},
	{"result", "GET", "/result", ""},
	{"items", "GET", "/items", ""},
	{"preview", "GET", "/preview", ""},
	{"stop", "POST", "/stop", ""},
	{"pause", "POST", "/pause", ""},
	{"resume", "POST", "/resume", ""},
	{"approve", "POST", "/approve", ""},
	{"retry", "POST", "/retry", ""},
	{"change", "PATCH", "", `{"priority":3}`},
	{"delete", "DELETE", "", ""},
	{"retry-failed", "POST", "/retry-failed", ""},
	{"continue", "POST", "/continue", ""},
	{"apply", "POST", "/apply", ""},
}

// effective reports whether a call was accepted and had an effect.
func effective(name string, r reply) bool {
	switch {
	case r.status >= 300, r.header.Get("Idempotent-Replayed") != "":
		return false
	case slices.Contains([]string{"stop", "pause"}, name):
		return r.status == http.StatusAccepted
	}
	return true
}

// kindsOfCallers are people who make requests of a job: its owner, as a person with all rights, as one who
// may only watch, and as nobody.
func kindsOfCallers(owner uuid.UUID) map[string]uuid.UUID {
	return map[string]uuid.UUID{"owner": owner, "second person": supervisor, "watcher": watcher, "stranger": uuid.New()}
}

var supervisor, watcher = uuid.MustParse("00000000-0000-4000-8000-000000000001"), uuid.MustParse("00000000-0000-4000-8000-000000000002")

// teamJobs lets supervisors do everything, and watchers watch and stop.
func teamJobs(ctx context.Context, c taskhttp.Caller, op taskhttp.Operation, t *taskkit.Task) error {
	switch {
	case c.Owner == supervisor, c.Owner == watcher && slices.Contains([]taskhttp.Operation{taskhttp.OpWatch, taskhttp.OpStop, taskhttp.OpRetryFailed}, op):
		return nil
	}
	return taskhttp.OwnJobs(ctx, c, op, t)
}

// situation is a state in which a job can be. make returns the job, newly made, of the env's person.
type situation struct {
	name string
	make func(t *testing.T, e *env) taskkit.ID
}

// submitted stores a job of the env's person.
func submit[Spec, State, Result any](t *testing.T, e *env, k *taskkit.Kind[Spec, State, Result], spec Spec, opts ...taskkit.SubmitOption) taskkit.ID {
	t.Helper()
	id, err := taskkit.Submit(t.Context(), e.db.DB, k, spec, append(opts, taskkit.OwnedBy(e.person), taskkit.WithSchema(e.schema))...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// finished waits until a job has ended.
func (e *env) finished(t *testing.T, id taskkit.ID) taskkit.ID {
	t.Helper()
	e.until(t, id, (*taskkit.Task).Ended)
	return id
}

// until waits until a task is as wanted.
func (e *env) until(t *testing.T, id taskkit.ID, wanted func(*taskkit.Task) bool) {
	t.Helper()
	eventually(t, func() (bool, error) {
		task, err := e.client.Task(t.Context(), id)
		return err == nil && wanted(task), err
	})
}

// release ends the jobs of a person, whose batches may hold.
func (e *env) release(t *testing.T) {
	t.Helper()
	eventually(t, func() (bool, error) {
		live, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Owner: e.person, Children: true, Statuses: []taskkit.Status{taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting}})
		for _, task := range live {
			if _, err := e.client.Stop(t.Context(), task.ID); err != nil && !errors.Is(err, taskkit.ErrNotFound) {
				return false, err
			}
			if len(e.work.next) == 0 {
				e.work.next <- struct{}{}
			}
		}
		return len(live) == 0, err
	})
	for len(e.work.next) > 0 {
		<-e.work.next
	}
}

// eventually calls f until it is true.
func eventually(t *testing.T, f func() (bool, error)) {
	t.Helper()
	ctx := testdb.Within(t)
	for {
		ok, err := f()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("it does not become so")
		}
	}
}

// teamSpec is the spec of a task with a child for each mode.
type teamSpec struct {
	Modes []string             `json:"modes"`
	After taskkit.ChildFailure `json:"after"`
}

type teamState struct {
	Sent bool `json:"sent"`
}

// teamKind has tasks with children of workKind.
var teamKind = taskkit.NewKind(taskkind.Definition[teamSpec, teamState, struct{}]{Name: "team", Children: true})

// team is the executor of teamKind.
type team struct{}

func (team) Execute(ctx context.Context, b *taskkit.Batch[teamSpec, teamState]) (taskkit.Next, error) {
	if b.State.Sent {
		return taskkit.Done, nil
	}
	b.State.Sent = true
	for _, m := range b.Spec.Modes {
		if _, err := taskkit.Submit(ctx, b.Tx, workKind, workSpec{Mode: m}, taskkit.WithParent(b.Task)); err != nil {
			return taskkit.Done, err
		}
	}
	return taskkit.AwaitChildren(0, b.Spec.After), nil
}

// children waits for the children of a task and returns them.
func (e *env) children(t *testing.T, parent taskkit.ID, n int) (found []*taskkit.Child) {
	t.Helper()
	eventually(t, func() (_ bool, err error) {
		found, err = e.client.Children(t.Context(), parent, taskkit.ID{}, 10)
		return len(found) == n, err
	})
	return found
}

// versioned makes a job the first version of a reference.
func versioned() []taskkit.SubmitOption {
	return []taskkit.SubmitOption{taskkit.WithCoalescing(uuid.NewString()), taskkit.WithVersion(1)}
}

// situations are the states of jobs, of their parents, and of the jobs that were made of them.
func situations() []situation {
	limited := []string{"a", "bad", "b", "c", "d", "e"}
	request := func(t *testing.T, e *env, id taskkit.ID, below string) taskkit.ID {
		t.Helper()
		if r := e.as(supervisor).do(t, "POST", path(id)+"/"+below, ""); r.status >= 300 {
			t.Fatalf("%s: %d %s", below, r.status, r.body)
		}
		return id
	}
	plain := func(mode string, opts ...taskkit.SubmitOption) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return submit(t, e, workKind, workSpec{Mode: mode}, opts...)
		}
	}
	ended := func(mode string, opts ...taskkit.SubmitOption) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return e.finished(t, plain(mode, opts...)(t, e))
		}
	}
	running := func(requests ...string) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			id := plain(hold)(t, e)
			e.batch(t, id)
			for _, below := range requests {
				request(t, e, id, below)
			}
			return id
		}
	}
	overPieces := func(wait func(*testing.T, *env, taskkit.ID) taskkit.ID, pieces []string, opts ...taskkit.SubmitOption) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return wait(t, e, submit(t, e, piecesKind, piecesSpec{pieces}, opts...))
		}
	}
	isEnded := func(t *testing.T, e *env, id taskkit.ID) taskkit.ID { t.Helper(); return e.finished(t, id) }
	isPaused := func(t *testing.T, e *env, id taskkit.ID) taskkit.ID { t.Helper(); e.paused(t, id); return id }
	after := func(first func(*testing.T, *env) taskkit.ID, below string) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return request(t, e, first(t, e), below)
		}
	}
	previewed := func(t *testing.T, e *env) taskkit.ID {
		t.Helper()
		return e.finished(t, submit(t, e, seatsKind, seatsSpec{Seats: []int{1, 2, 3}}, taskkit.WithPreview()))
	}
	child := func(after taskkit.ChildFailure, parentEnds bool, modes ...string) func(*testing.T, *env) taskkit.ID {
		return func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			parent := submit(t, e, teamKind, teamSpec{modes, after})
			found := e.children(t, parent, len(modes))
			for i, m := range modes {
				if m == hold {
					e.batch(t, found[i].ID)
				} else {
					e.finished(t, found[i].ID)
				}
			}
			if parentEnds {
				e.finished(t, parent)
			}
			return found[0].ID
		}
	}
	stopped := func(t *testing.T, e *env) taskkit.ID {
		t.Helper()
		id := plain(count)(t, e)
		e.batch(t, id)
		request(t, e, id, "stop")
		e.work.next <- struct{}{}
		return e.finished(t, id)
	}
	return []situation{
		{"has not begun", plain(done, taskkit.WithQueue("unserved"))},
		{"begins later", plain(done, taskkit.WithDelay(1e12))},
		{"is paused before it begins", after(plain(done, taskkit.WithQueue("unserved")), "pause")},
		{"waits for approval", plain(done, taskkit.WithApproval())},
		{"waits for approval, and was submitted by a supervisor", plain(done, taskkit.WithApproval(), taskkit.WithActor(supervisor))},
		{"runs", running()},
		{"is to pause", running("pause")},
		{"is to stop", running("stop")},
		{"is to stop, after a pause", running("pause", "stop")},
		{"is to be deleted", func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			id := running()(t, e)
			e.do(t, "DELETE", path(id), "")
			return id
		}},
		{"is done", ended(done)},
		{"was stopped", stopped},
		{"was stopped and is continued", after(stopped, "continue")},
		{"has failed", ended(fail)},
		{"has failed and is continued", after(ended(fail), "continue")},
		{"has failed, and its key is taken", func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			key := taskkit.WithUniqueKey(uuid.NewString())
			id := ended(fail, key)(t, e)
			plain(done, key, taskkit.WithQueue("unserved"))(t, e)
			return id
		}},
		{"is done with failed items", overPieces(isEnded, limited)},
		{"is done, and its failed items are retried", after(overPieces(isEnded, limited), "retry-failed")},
		{"is done without failed items", overPieces(isEnded, []string{"a", "odd"})},
		{"waits for approval after its canary", overPieces(isPaused, limited, taskkit.WithCanary(1))},
		{"has reached its limit", overPieces(isPaused, limited, taskkit.WithStopAfter("1"))},
		{"has reached its limit with its canary", overPieces(isPaused, limited, taskkit.WithCanary(2), taskkit.WithStopAfter("1"))},
		{"is a preview", previewed},
		{"is an applied preview", after(previewed, "apply")},
		{"waits for its children", func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			parent := submit(t, e, teamKind, teamSpec{[]string{hold}, taskkit.FailParent})
			e.batch(t, e.children(t, parent, 1)[0].ID)
			return parent
		}},
		{"has failed with its child", func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return e.finished(t, submit(t, e, teamKind, teamSpec{[]string{fail}, taskkit.FailParent}))
		}},
		{"has failed, and has a version", func(t *testing.T, e *env) taskkit.ID { t.Helper(); return ended(fail, versioned()...)(t, e) }},
		{"is done with failed items, and has a version", func(t *testing.T, e *env) taskkit.ID {
			t.Helper()
			return overPieces(isEnded, limited, versioned()...)(t, e)
		}},
		{"is a child that runs", child(taskkit.ContinueParent, false, hold)},
		{"is a failed child of an open parent", child(taskkit.ContinueParent, false, fail, hold)},
		{"is a failed child of a failed parent", child(taskkit.FailParent, true, fail)},
		{"is a failed child of a parent that is done", child(taskkit.ContinueParent, true, fail)},
		{"is a child of an open parent, and done", child(taskkit.ContinueParent, false, done, hold)},
		{"is a child of a parent that is done, and done", child(taskkit.ContinueParent, true, done)},
	}
}

// Over the states of a job and the kinds of callers: each call among the links is accepted and has an effect, and no other
// call has.
func TestLinksAreWhatIsAccepted(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) { c.Authorize = teamJobs })
		newSeats(t, e)
		e.runWorker(t)
		seen := map[string]int{}
		for _, s := range situations() {
			for caller := range maps.Keys(kindsOfCallers(e.person)) {
				checkLinks(t, e, s, caller, seen)
			}
		}
		for _, c := range linked {
			if seen[c.name] == 0 {
				t.Errorf("no job has the link %s", c.name)
			}
		}
	})
}

func checkLinks(t *testing.T, e *env, s situation, caller string, seen map[string]int) {
	t.Helper()
	var fresh *env
	anew := func() (taskkit.ID, *env) {
		if fresh != nil {
			fresh.release(t)
		}
		fresh = e.as(uuid.New())
		return s.make(t, fresh), fresh.as(kindsOfCallers(fresh.person)[caller])
	}
	defer func() { fresh.release(t) }()
	name := fmt.Sprintf("a job that %s, by a %s", s.name, caller)
	id, e := anew()
	var links map[string]taskhttp.Link
	if r := e.do(t, "GET", path(id), ""); r.status == http.StatusOK {
		links = r.job(t).Links
	}
	used := false
	for _, c := range linked {
		link, has := links[c.name]
		if !has {
			before, _ := e.client.Task(t.Context(), id)
			r := e.do(t, c.method, path(id)+c.below, c.body)
			if c.name == "delete" {
				now, err := e.client.Task(t.Context(), id)
				if err != nil || now.Control != before.Control {
					t.Errorf("%s: there is no link delete, and it is deleted", name)
				}
			} else if effective(c.name, r) {
				t.Errorf("%s: there is no link %s, and %d %s", name, c.name, r.status, r.body)
			}
			continue
		}
		seen[c.name]++
		if link.Method != c.method || link.Href != path(id)+c.below {
			t.Errorf("%s: the link %s is %+v", name, c.name, link)
		}
	}
	for _, c := range linked {
		if _, has := links[c.name]; !has {
			continue
		}
		if used && c.method != http.MethodGet {
			id, e = anew()
		}
		used = used || c.method != http.MethodGet
		if r := e.do(t, c.method, path(id)+c.below, c.body); !effective(c.name, r) {
			t.Errorf("%s: the link %s is refused: %d %s", name, c.name, r.status, r.body)
		}
	}
}
