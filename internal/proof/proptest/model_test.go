package proptest_test

import (
	"fmt"

	"taskkit.dev/taskkit"
)

// step is what an executor does in one batch: it fails so often, in one way, and
// then it succeeds.
type step struct {
	Fails int    `json:"fails"`
	How   string `json:"how"` // transient, permanent, panic
	Later bool   `json:"later"`
}

// ends reports whether the task ends in FAILURE at this step, until somebody
// retries it.
func (s step) ends() bool {
	return s.Fails > 0 && (s.How != "transient" || s.Fails >= maxAttempts)
}

// known is what the model knows of a task.
type known struct {
	id         taskkit.ID
	plan       []step
	unique     string
	idempotent string
	reference  string
	delayed    bool // submitted for a later time
	far        bool // not due for an hour: nobody will begin it

	begun   bool // a worker may have had it
	cut     bool // a worker that was cut off may have had it
	paused  bool // asked, and not taken back
	stopped bool
	deleted bool
	ended   bool // seen to have ended, and not retried since
	retried int
}

// mayRun reports whether a worker would take it.
func (k *known) mayRun() bool { return !k.far && !k.paused && !k.ended && !k.gone() }

// gone reports whether it surely exists no more.
func (k *known) gone() bool { return k.deleted && (!k.begun || k.ended) }

// live reports whether it surely has not ended.
func (k *known) live() bool { return !k.begun && !k.stopped && !k.deleted }

// merges reports whether a submission may, and whether it must, be merged into the
// task: one that may have begun is perhaps replaced, and perhaps not.
func (k *known) merges(submitted *known) (may, must bool) {
	if k.reference == "" || k.reference != submitted.reference || k.delayed != submitted.delayed || k.over() {
		return false, false
	}
	return true, k.live()
}

// merge makes the task one of the submission that was merged into it: it begins
// anew, at the earlier time.
func (k *known) merge(submitted *known) {
	k.plan, k.far = submitted.plan, k.far && submitted.far
}

// over reports whether it surely has ended or is gone.
func (k *known) over() bool { return k.gone() || k.ended || k.stopped && !k.begun }

// asked takes note of a request that was answered without an error, or says why
// that cannot be.
func (k *known) asked(action string) error {
	if k.gone() {
		return fmt.Errorf("%s of a task that is gone was accepted", action)
	}
	switch action {
	case "stop":
		if !k.over() && !k.deleted {
			k.stopped, k.paused = true, false
		}
	case "delete":
		k.deleted, k.paused = true, false
	case "pause":
		if k.over() || k.stopped && !k.retriable() || k.deleted {
			return fmt.Errorf("paused a task that has ended or is about to: %+v", *k)
		}
		k.paused = true
	case "resume":
		if !k.paused {
			return fmt.Errorf("resumed a task that was not paused: %+v", *k)
		}
		k.paused = false
	case "retry":
		if !k.retriable() || !k.begun {
			return fmt.Errorf("retried a task that could not have failed: %+v", *k)
		}
		if k.deleted {
			return fmt.Errorf("retried a task whose delete was accepted: %+v", *k)
		}
		k.retried++
		k.ended, k.stopped, k.paused = false, false, false
	}
	return nil
}

// refused says why a request cannot have been refused for the task's state.
func (k *known) refused(action string) error {
	switch {
	case action == "stop" || action == "delete":
		return fmt.Errorf("%s was refused", action)
	case k.begun || k.over() || k.deleted || k.stopped:
		return nil // it may have ended meanwhile
	case action == "pause", action == "resume" && k.paused:
		return fmt.Errorf("%s of a task that nobody has begun was refused: %+v", action, *k)
	}
	return nil
}

// retriable reports whether the plan leads to a FAILURE that is still to come,
// or has just come.
func (k *known) retriable() bool { return k.begun && (k.cut || k.retried < len(k.failures())) }

// failures are the steps at which the task ends in FAILURE.
func (k *known) failures() (at []int) {
	for i, s := range k.plan {
		if s.ends() {
			at = append(at, i)
		}
	}
	return at
}

// check says what is wrong with where a task stands when nothing runs any more;
// t is nil when it is not there. touched is how often each step was touched.
func (k *known) check(t *taskkit.Task, touched map[int]int) error {
	if t == nil {
		if !k.deleted {
			return fmt.Errorf("it is gone, and nobody deleted it")
		}
		return nil
	}
	n := len(touched)
	for i := range n {
		if touched[i] != 1 {
			return fmt.Errorf("its steps were touched %v, want the first %d once each", touched, n)
		}
	}
	if int64(n) != t.Checkpoints {
		return fmt.Errorf("%d steps were touched with %d checkpoints", n, t.Checkpoints)
	}
	switch {
	case k.deleted:
		return fmt.Errorf("it was deleted and is there, %s, control %q", t.Status, t.Control)
	case k.far && !k.stopped:
		return k.want(t.Status == taskkit.StatusQueued && n == 0, t, n, "waits for its time")
	case k.paused && t.Status == taskkit.StatusQueued:
		return k.want(t.Control == taskkit.ControlPause, t, n, "waits to be resumed")
	case k.stopped && t.Status == taskkit.StatusCompleted && (t.Partial || n < len(k.plan)):
		return k.want(t.Partial && n <= len(k.plan), t, n, "was stopped")
	case k.stopped && !k.begun:
		return k.want(false, t, n, "was stopped before anybody began it")
	}
	if t.Status == taskkit.StatusCompleted {
		all := k.cut || k.retried >= len(k.failures())
		return k.want(all && !t.Partial && n == len(k.plan), t, n, "has done its plan")
	}
	if k.cut { // an attempt may have been lost, or counted without a batch
		return k.want((t.Status == taskkit.StatusFailure || t.Status == taskkit.StatusError) && n < len(k.plan), t, n, "has failed somewhere")
	}
	at := k.failures()
	return k.want(t.Status == taskkit.StatusFailure && k.retried < len(at) && n == at[min(k.retried, len(at)-1)], t, n, "has failed where its plan says")
}

func (k *known) want(ok bool, t *taskkit.Task, n int, what string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("want one that %s; it is %s %q, control %q, after %d of %d steps; model %+v", what, t.Status, t.StatusDetail, t.Control, n, len(k.plan), *k)
}
