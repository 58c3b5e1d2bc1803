package oracle_test

import (
	"database/sql"
	"strings"

	"github.com/google/uuid"
)

// options gives a task options, as its plan has them.
func (l *life) options(text string) *life {
	l.Helper()
	l.do("INSERT INTO taskkit_task_plan (id, task_id, options) VALUES ($1, $2, $3)", uuid.NewString(), l.id, text)
	return l
}

const (
	twoAtMost = `{"stop_after": {"failed": 2}}`
	paused    = "control = 'PAUSE'"
)

// failing is a task that a batch of three, of which two have failed, has brought to its
// limit.
func (w *env) failing(also ...string) *life {
	w.Helper()
	l := w.submit().options(twoAtMost).set(claim).set(start)
	l.together(func(tx *sql.Tx) {
		l.touch(tx, "w", 0, 3)
		set := strings.Join(append([]string{checkpoint(1), "items_failed = 2"}, also...), ", ")
		l.on(tx, "UPDATE taskkit_queued_task SET "+set+" WHERE id = $1", l.id)
	})
	return l
}

var conditionViolations = []violation{
	{"a limit that is passed over", []string{"I25: 2 of 3 processed items have failed, and the checkpoint did not pause"}, func(w *env) string {
		return w.failing().id
	}},
	{"a batch after the pause", []string{"I25: a batch of 3 items after the checkpoint"}, func(w *env) string {
		return w.failing(paused).batch(3, 6).id
	}},
	{"a resume that leaves the limit reached", []string{"I25: goes on with 2 of 3"}, func(w *env) string {
		return w.failing(paused).set(release).set("control = ''").set(claim).id
	}},
	{"a canary that is exceeded", []string{"I26: 3 items are processed, and its canary is 2", "I26: the checkpoint did not pause the task"}, func(w *env) string {
		return w.submit().options(`{"canary": 2}`).set(claim).set(start).batch(0, 3).id
	}},
	{"a canary that nobody approved", []string{"I26: goes on with"}, func(w *env) string {
		l := w.submit().options(`{"canary": 3}`).set(claim).set(start).batch(0, 3, paused)
		return l.set(release).set("control = ''").set(claim).id
	}},
	{"a preview that writes", []string{"I27: 10 touches from"}, func(w *env) string {
		return w.submit().options(`{"preview": true}`).set(claim).set(start).batch(0, 10, finish).id
	}},
}
