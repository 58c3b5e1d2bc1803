package engine

import (
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workrate"
)

// worktime measures how long a session works for how many items. The time begins
// with its first batch, and that of a batch that fails is left out. The last seconds
// of a session, and those before a commit without an answer, are not stored.
// Its times are since the session began.
type worktime struct {
	since time.Duration // the beginning of what is not stored yet
	from  int64         // items that were processed by then
	asked time.Duration // when something was last to be stored
}

// restartMeasure begins a measurement at the last checkpoint.
func (s *session) restartMeasure() {
	now := time.Since(s.began)
	s.worktime = worktime{since: now, from: s.progress.Processed(), asked: now}
}

// exclude leaves out a time that has just ended.
func (m *worktime) exclude(d time.Duration) { m.since += d }

// measure adds to the checkpoint of a batch what the session has measured, if it has
// worked for some seconds since it last did.
func (s *session) measure(w *store.Write) {
	now := time.Since(s.began)
	if s.config.MeasureEvery <= 0 || now-s.worktime.asked < s.config.MeasureEvery {
		return
	}
	w.Worked = &store.Worked{Sample: workrate.Sample{Items: w.Progress.Processed() - s.worktime.from, Took: now - s.worktime.since}}
	if s.preview == nil {
		w.Worked.Kind = s.task.Kind
	}
}

// advanceMeasure continues after a committed checkpoint. Time without items belongs
// to the items after it, except before the first one, when they may only have been
// searched for.
func (s *session) advanceMeasure(w *store.Write) {
	switch {
	case w.Worked == nil:
	case w.Worked.Items > 0 || w.Progress.Processed() == 0:
		s.restartMeasure()
	default:
		s.worktime.asked = time.Since(s.began)
	}
}
