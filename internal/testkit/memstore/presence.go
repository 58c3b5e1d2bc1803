package memstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"taskkit.dev/internal/store"
)

// ErrGone is the cause of the end of a Watch whose process is gone, or has lost its connection
// without noticing.
var ErrGone = errors.New("the process is gone")

// Process is the row of a process, and its presence lock.
type Process struct {
	store.Process
	Lock   int64     // in the row; 0: none
	Absent time.Time // when Lock was first seen to be free
	taken  bool      // Lock, by the process
	lost   int64     // the lock that the process lost last
}

// takePresence takes a lock for a process and names it in its row. It reports whether the
// process is alive. The store is locked.
func (s *Store) takePresence(id string) (lock int64, alive bool) {
	p := s.procs[id]
	if p == nil || p.Ended != nil {
		return 0, false
	}
	s.locks++
	p.Lock, p.taken, p.Absent, p.Heartbeat = s.locks, true, time.Time{}, s.now()
	for n := range s.watched {
		if w, ok := s.watchers[n]; ok {
			w.Joined()
		}
	}
	return p.Lock, true
}

// freePresence frees a lock. If its process is not gone, its next heartbeat removes it from the
// row. The store is locked.
func (s *Store) freePresence(id string, lock int64, cause error) {
	p := s.procs[id]
	if p == nil || lock == 0 {
		return
	}
	if p.Lock == lock {
		p.taken = false
	}
	if !errors.Is(cause, ErrGone) {
		p.lost = lock
	}
}

// FoundAlive implements [store.Workers].
func (s *Store) FoundAlive(ctx context.Context, process string) (declaredDead bool, err error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	p := s.procs[process]
	if p == nil || p.Ended == nil || p.EndReason == store.EndedLeft || p.FoundAlive != nil {
		return false, nil
	}
	now := s.now()
	p.FoundAlive = &now
	return true, nil
}

// ReadPresence implements [store.Workers].
func (s *Store) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	if err := s.enter(ctx); err != nil {
		return store.PresenceReading{}, err
	}
	defer s.mu.Unlock()
	r := store.PresenceReading{At: s.now()}
	me := s.procs[process]
	lost := me != nil && me.Lock != 0 && !me.taken
	for id, p := range s.procs {
		if id == process || p.Ended != nil {
			continue
		}
		r.Others = append(r.Others, id)
		r.Present = r.Present || p.Lock != 0
		switch {
		case p.taken || p.Lock == 0 || lost:
		case s.longAbsent(p):
			r.Absent = append(r.Absent, p.Lock)
		default:
			r.Missing = true
			if p.Absent.IsZero() {
				p.Absent = r.At
			}
		}
	}
	slices.Sort(r.Others)
	slices.Sort(r.Absent)
	return r, nil
}

// longAbsent reports whether the lock of a process was seen to be free long ago.
func (s *Store) longAbsent(p *Process) bool {
	return !p.Absent.IsZero() && s.now().Sub(p.Absent) > store.AbsentFor
}
