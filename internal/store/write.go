package store

import "github.com/google/uuid"

// rounds groups writes so that none holds a task twice, keeping their order.
// There is nearly always one: a statement changes a row once.
func rounds(writes []Write) [][]int {
	var rs [][]int
	seen := make(map[uuid.UUID]int, len(writes))
	for i, w := range writes {
		n := seen[w.ID]
		seen[w.ID] = n + 1
		if n == len(rs) {
			rs = append(rs, nil)
		}
		rs[n] = append(rs[n], i)
	}
	return rs
}

// extra reports whether a write brings rows of its own.
func extra(writes []Write) bool {
	for _, w := range writes {
		if len(w.failures()) > 0 || w.Attempt != nil || w.Result != nil || w.secrets() != "" {
			return true
		}
	}
	return false
}

// secrets are those that a checkpoint adds.
func (w *Write) secrets() string {
	if !w.Checkpoint {
		return ""
	}
	return w.Secrets
}

// failures are the failed items of a checkpoint, fit to be stored.
func (w *Write) failures() []Failure {
	if !w.Checkpoint {
		return nil
	}
	fs := make([]Failure, len(w.Failures))
	for i, f := range w.Failures {
		if f.ID == uuid.Nil {
			f.ID = uuid.Must(uuid.NewV7())
		}
		f.Item, f.Code, f.Detail = clean(f.Item), clean(f.Code), clean(f.Detail)
		fs[i] = f
	}
	return fs
}

// attempt is the failed attempt of a write, fit to be stored.
func (w *Write) attempt() *Attempt {
	if w.Attempt == nil {
		return nil
	}
	a := *w.Attempt
	a.Process, a.Class, a.Code, a.Detail = clean(a.Process), clean(a.Class), clean(a.Code), clean(a.Detail)
	return &a
}

// delay is [Write.Delay] as the database takes it: milliseconds, and -1 for none
// at all.
func (w *Write) delay() int64 {
	if w.Delay < 0 {
		return -1
	}
	return millis(w.Delay)
}
