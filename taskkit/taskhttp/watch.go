package taskhttp

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"taskkit.dev/taskkit"
)

// The bounds of a watch.
const (
	maxWait         = 60 * time.Second
	minProgress     = 250 * time.Millisecond
	maxProgress     = 50 * time.Second
	defaultProgress = time.Second

	// answerTime is how long the answer itself may take after a wait.
	answerTime = 15 * time.Second

	// checkPermission is how often the [Authorizer] is called again for a request that waits.
	checkPermission = time.Second
)

// watching says what a request waits for.
type watching struct {
	wait     time.Duration // at most; 0: not at all
	progress time.Duration // the least time to an answer with progress; 0: without
	since    string        // a revision; "": the revision of the task as first read
	done     bool          // only the end counts
}

// watch answers with a job, at once or when it has changed.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, who Caller) error {
	now, err := s.seenApart(r, who)
	if err != nil {
		return err
	}
	q, err := query(r, "maximumPollingPeriod", "progressPeriod", "since")
	if err != nil {
		return err
	}
	var (
		how       watching
		preferred bool
	)
	if how.wait, preferred, err = q.wait(r); err != nil {
		return err
	}
	if how.progress, err = q.progress(); err != nil {
		return err
	}
	tags := entityTags(r.Header.Values("If-None-Match"))
	if how.since, err = q.revision(tags); err != nil {
		return err
	}
	if how.wait > 0 {
		now, err = s.wait(w, r, who, now, how)
	}
	if err != nil {
		return err
	}
	j := s.job(r.Context(), who, now.task, time.Since(now.at))
	if how.wait == 0 {
		s.estimate(r.Context(), j)
	}
	if preferred {
		preferenceApplied(w, how.wait)
	}
	w.Header().Set("ETag", `W/"`+j.Revision+`"`)
	if tags.match(j.Revision) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	s.custom(r.Context(), j)
	s.answer(w, http.StatusOK, j)
	return nil
}

// seenApart reads the task of a request that may wait. It does so on another goroutine, since a stack that
// has grown stays large while the request waits, and a query makes it several times as large as the wait needs.
func (s *Server) seenApart(r *http.Request, who Caller) (now seen, err error) {
	var (
		done     = make(chan struct{})
		panicked any
	)
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
				panicked = goroutinePanic{v, debug.Stack()}
			} else {
				panicked = v
			}
		}()
		var t *taskkit.Task
		if t, err = s.task(r, who, OpWatch); err == nil {
			now = seenNow(t)
		}
	}()
	if <-done; panicked != nil {
		panic(panicked)
	}
	return now, err
}

// goroutinePanic is a panic on another goroutine than the request's.
type goroutinePanic struct {
	value any
	stack []byte
}

// answer sends a job.
func (s *Server) answer(w http.ResponseWriter, status int, j *Job) {
	if !j.Done {
		again := time.Second
		if s.isDraining() {
			again = retryLater
		}
		w.Header().Set("Retry-After", seconds(again))
	}
	writeJSON(w, status, "application/json", j)
}

// estimate adds rate and remaining time to the progress of a job that works. A job is
// answered without if they cannot be read.
func (s *Server) estimate(ctx context.Context, j *Job) {
	if j.Progress == nil || j.Done {
		return
	}
	if m, err := s.client.Progress(ctx, j.ID); err == nil {
		j.Progress.estimate(m)
	}
}

// wait waits until a task is as the request wants it, until its time is over, or until
// the server drains.
func (s *Server) wait(w http.ResponseWriter, r *http.Request, who Caller, now seen, how watching) (seen, error) {
	t := now.task
	if how.since == "" {
		how.since = now.revision
	}
	if how.enough(now, 0) {
		return now, nil
	}
	if !s.waits.begin(who.Owner) {
		return now, ErrTooManyWaits.later(retryLater)
	}
	defer s.waits.end(who.Owner)
	// The timeouts of the server are for requests that do not wait. A writer that has no
	// deadlines needs none.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(how.wait + answerTime))
	_ = control.SetWriteDeadline(time.Now().Add(how.wait + answerTime))
	s.hub.watch(now)
	defer s.hub.unwatch(t.ID)
	began := time.Now()
	over := time.NewTimer(how.wait)
	defer over.Stop()
	var due <-chan time.Time
	if how.progress > 0 {
		timer := time.NewTimer(how.progress)
		defer timer.Stop()
		due = timer.C
	}
	again := time.NewTicker(checkPermission)
	defer again.Stop()
	for last := false; ; {
		now, changed := s.hub.last(t.ID)
		switch {
		case now.task == nil || !s.may(r.Context(), who, OpWatch, now.task):
			return now, ErrNoSuchJob
		case how.enough(now, time.Since(began)):
			return now, nil
		case last && now.failed != nil:
			return now, now.failed
		case last:
			return now, nil
		}
		select {
		case <-changed:
		case <-due:
		case <-again.C:
		case <-over.C:
			last = true
		case <-s.draining:
			last = true
		case <-r.Context().Done():
			return now, r.Context().Err()
		}
	}
}

// enough reports whether a task is as the request wants it, after it has waited.
func (g watching) enough(now seen, waited time.Duration) bool {
	if now.done || g.done {
		return now.done
	}
	status, progress := cutRevision(now.revision)
	sinceStatus, sinceProgress := cutRevision(g.since)
	return status != sinceStatus || g.progress > 0 && waited >= g.progress && progress != sinceProgress
}
