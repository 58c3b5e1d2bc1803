package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// notify submits a notification of a target.
func (b *env) notify(target string, opts ...taskkit.SubmitOption) taskkit.ID {
	b.Helper()
	id, err := tasknotify.Submit(b.Context(), b.DB, notice.Notice{Event: notice.FindingOpened, Target: target, Code: "x"},
		append([]taskkit.SubmitOption{taskkit.WithSchema(b.schema), taskkit.WithQueue("mail")}, opts...)...)
	b.must(err)
	return id
}

// deliver delivers the notifications that wait.
func (b *env) deliver(p store.Process, n int) {
	b.Helper()
	for _, l := range b.claim(p, n) {
		b.apply(p, &store.Write{Lease: l, Begun: true, Checkpoint: true, To: lifecycle.Completed})
	}
}

// refuse lets the receiver refuse the notifications that wait.
func (b *env) refuse(p store.Process, n int) {
	b.Helper()
	for _, l := range b.claim(p, n) {
		b.apply(p, &store.Write{
			Lease: l, Begun: true, To: lifecycle.Failure, StatusDetail: "webhook_refused: ops.example has answered a webhook with 404",
			Attempt: &store.Attempt{Process: p.ID, Fence: l.Fence, Attempt: 1, Class: "permanent", Code: "webhook_refused", Detail: "ops.example has answered a webhook with 404"},
		})
	}
}

// A target takes notifications again once one was delivered, whatever the options of its task are.
func TestTargetTakesAgain(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]taskkit.SubmitOption{
		"no options": nil,
		"kept":       {taskkit.WithRetention(time.Hour)},
		"kept ever":  {taskkit.WithRetention(taskkit.Never)},
		"a deadline": {taskkit.WithDeadline(time.Now().Add(time.Hour))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *testdb.DB) {
				b := newEnv(t, db)
				p, deliverer := plant{id: "target_fails", about: "ops"}, b.deliverer()
				for range 3 {
					b.notify("ops")
				}
				b.refuse(deliverer, 3)
				p.until(b, true)
				b.notify("log", opts...)
				b.deliver(deliverer, 1)
				p.until(b, true)
				b.notify("ops", opts...)
				b.deliver(deliverer, 1)
				p.until(b, false)
			})
		})
	}
}

// The command of the finding retries the dead letters of the target, and not of others with the same code.
func TestTargetRetries(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		b := newEnv(t, db)
		p, deliverer := plant{id: "target_fails", about: "ops"}, b.deliverer()
		var ops []taskkit.ID
		for range 3 {
			ops = append(ops, b.notify("ops"))
			b.notify("log")
			b.notify("log", taskkit.WithRetention(time.Hour))
		}
		b.refuse(deliverer, 9)
		f := p.until(b, true)
		if status, out, errs := b.shell(f.Command); status != 0 {
			t.Fatalf("%s: status %d\n%s%s", f.Command, status, out, errs)
		}
		waiting, _, err := b.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{notice.Kind}, Statuses: []taskkit.Status{taskkit.StatusQueued}, Limit: 100})
		b.must(err)
		var retried []taskkit.ID
		for _, task := range waiting {
			retried = append(retried, task.ID)
		}
		slices.SortFunc(retried, func(a, b taskkit.ID) int { return strings.Compare(a.String(), b.String()) })
		if !slices.Equal(retried, ops) {
			t.Errorf("%s has retried %v, want %v", f.Command, retried, ops)
		}
		b.deliver(deliverer, 3)
		p.until(b, false)
		other := plant{id: "target_fails", about: "log"}
		other.until(b, true)
	})
}
