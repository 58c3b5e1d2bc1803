package engine

import "sync/atomic"

// wakeups are what the claimer waits for. Several wake-ups that nobody has
// received yet are one.
type wakeups struct {
	tasks     chan struct{} // tasks may be waiting in the database
	slots     chan struct{} // a slot is free
	listening atomic.Bool   // the listener would report new tasks
}

func newWakeups() *wakeups {
	return &wakeups{tasks: make(chan struct{}, 1), slots: make(chan struct{}, 1)}
}

// taskWaiting wakes the claimer because tasks may be waiting.
func (w *wakeups) taskWaiting() { wake(w.tasks) }

// slotFreed wakes the claimer because there is room.
func (w *wakeups) slotFreed() { wake(w.slots) }

// setListening says whether there is a listener. The claimer then polls, since
// it may have missed something, and adapts its interval.
func (w *wakeups) setListening(on bool) {
	w.listening.Store(on)
	w.taskWaiting()
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
