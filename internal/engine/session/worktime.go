package session

import (
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// worktime is the [feature] that measures how long a session works for how many items. The time begins with the first batch, and
// leaves out batches that fail. The last seconds of a session, and those before a commit without an answer, are not stored. Its times are
// since the session began.
type worktime struct {
	noFeature
	c       *current
	running bool
	since   time.Duration // the beginning of what is not stored yet
	from    int64         // items that were processed by then
	stored  time.Duration // when something was last to be stored
}

// restart begins a measurement at the last checkpoint.
func (m *worktime) restart() {
	now := time.Since(m.c.began)
	*m = worktime{c: m.c, running: true, since: now, from: m.c.progress.Processed(), stored: now}
}

// begin implements [feature].
func (m *worktime) begin(*Step) error {
	if !m.running {
		m.restart()
	}
	return nil
}

// finish adds to the checkpoint of a batch what was measured, if the session has worked for some seconds since it last did.
func (m *worktime) finish(_ *Step, r *result) error {
	now := time.Since(m.c.began)
	if m.c.Config.MeasureEvery <= 0 || now-m.stored < m.c.Config.MeasureEvery {
		return nil
	}
	r.Worked = &store.Worked{Sample: workrate.Sample{Items: r.Progress.Processed() - m.from, Took: now - m.since}}
	if !m.c.isPreview() {
		r.Worked.Kind = m.c.task.Kind
	}
	return nil
}

// discarded implements [feature].
func (m *worktime) discarded(took time.Duration) { m.since += took }

// committed continues after a committed checkpoint. Time without items belongs to the items after it, except before the first
// one, when they may only have been searched for.
func (m *worktime) committed(w *store.Write, _ store.Applied) {
	switch {
	case w.Found != nil && w.Found.Complete:
		m.restart()
	case w.Worked == nil:
	case w.Worked.Items > 0 || w.Progress.Processed() == 0:
		m.restart()
	default:
		m.stored = time.Since(m.c.began)
	}
}

// readBack begins anew: a batch was in vain, or it is not known what it has stored.
func (m *worktime) readBack(bool) { m.restart() }
