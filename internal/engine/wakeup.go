package engine

import "sync/atomic"

// wakeups are what the claimer waits for. Several wake-ups that it has
// not received yet are one.
type wakeups struct {
	tasks     chan struct{} // tasks may be waiting in the database
	slots     chan struct{} // a slot is free
	returned  chan struct{} // this worker has given a task back that will be due
	listening atomic.Bool   // the listener would report new tasks
}

func newWakeups() *wakeups {
	return &wakeups{tasks: make(chan struct{}, 1), slots: make(chan struct{}, 1), returned: make(chan struct{}, 1)}
}

// taskWaiting wakes the claimer because tasks may be waiting.
func (w *wakeups) taskWaiting() { wake(w.tasks) }

// slotFreed wakes the claimer because there is room.
func (w *wakeups) slotFreed() { wake(w.slots) }

// taskReturned wakes the claimer because it may not poll again before a task is due that this worker has
// given back. Of that one it is sure, so it does not poll several times as after a wake-up from elsewhere.
func (w *wakeups) taskReturned() { wake(w.returned) }

// setListening notes whether there is a listener. The claimer then polls, since
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
