package taskhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"taskkit.dev/taskkit"
)

// commentEvery is the interval of the comments that keep an event stream open. Proxies
// close connections on which nothing is sent.
const commentEvery = 15 * time.Second

// events sends a job as server-sent events: at once, unless the client has this revision
// already, and with each change, until the job is done. A client that comes back with
// the last revision of a job that is done gets 204, so that it stays away.
func (s *Server) events(w http.ResponseWriter, r *http.Request, who Caller) error {
	t, err := s.task(r, who, OpWatch)
	if err != nil {
		return err
	}
	q, err := query(r, "progressPeriod")
	if err != nil {
		return err
	}
	how := watching{progress: defaultProgress, since: r.Header.Get("Last-Event-ID")}
	if _, ok := q["progressPeriod"]; ok {
		if how.progress, err = q.progress(); err != nil {
			return err
		}
	}
	first := seenNow(t)
	if first.done && first.revision == how.since {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if !first.done && r.Method != http.MethodHead {
		if !s.waits.begin(who.Owner) {
			return ErrTooManyWaits.later(retryLater)
		}
		defer s.waits.end(who.Owner)
		s.hub.watch(first)
		defer s.hub.unwatch(t.ID)
	}
	w.Header().Set("Content-Type", mediaEvents)
	w.Header().Set("X-Accel-Buffering", "no") // or nginx would collect the events
	if r.Method == http.MethodHead {
		return nil
	}
	e := &eventStream{server: s, w: w, r: r, who: who, how: how, control: http.NewResponseController(w)}
	// Whether the client is still there is found out by writing.
	_ = e.control.SetReadDeadline(time.Time{})
	if err := e.run(t); errors.Is(err, http.ErrNotSupported) {
		s.config.Logger.ErrorContext(r.Context(),
			"cannot send events: the http.ResponseWriter that a middleware passes on has no Flush; give it an Unwrap method", "error", err)
	}
	return nil // the answer has begun
}

// eventStream is an answer of server-sent events.
type eventStream struct {
	server  *Server
	w       http.ResponseWriter
	r       *http.Request
	who     Caller
	control *http.ResponseController
	how     watching // since is the revision that was sent last
}

// run sends a job until it is done, the client has gone, or the server drains. It returns
// an error of the connection.
func (e *eventStream) run(t *taskkit.Task) error {
	s := e.server
	if first := seenNow(t); first.revision != e.how.since {
		if ended, err := e.send(first); ended || err != nil {
			return err
		}
	} else if err := e.write(": you have the latest revision\n\n"); err != nil {
		return err // otherwise the client has the headers
	}
	sent := time.Now()
	due := time.NewTimer(e.how.progress)
	defer due.Stop()
	comment := time.NewTicker(s.comment)
	defer comment.Stop()
	again := time.NewTicker(checkPermission)
	defer again.Stop()
	for {
		now, changed := s.hub.last(t.ID)
		switch {
		case now.task == nil || !s.may(e.r.Context(), e.who, OpWatch, now.task): // for this caller
			return e.write(": there is no such job any more\n\n")
		case e.how.enough(now, time.Since(sent)):
			if ended, err := e.send(now); ended || err != nil {
				return err
			}
			sent = time.Now()
			due.Reset(e.how.progress)
		}
		select {
		case <-changed:
		case <-due.C:
		case <-again.C:
		case <-comment.C:
			if err := e.write(":\n\n"); err != nil {
				return err
			}
		case <-s.draining:
			return e.write(fmt.Sprintf("retry: %d\n: the server shuts down\n\n", retryLater.Milliseconds()))
		case <-e.r.Context().Done():
			return nil
		}
	}
}

// send sends a job and reports whether it is the last event.
func (e *eventStream) send(now seen) (last bool, err error) {
	ctx := e.r.Context()
	j := e.server.job(ctx, e.who, now.task, time.Since(now.at))
	e.server.custom(ctx, j)
	body, err := json.Marshal(j)
	if err != nil {
		return true, fmt.Errorf("taskhttp: encode a job: %w", err)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "id: %s\ndata: %s\n\n", j.Revision, body)
	e.how.since = j.Revision
	return j.Done, e.write(b.String())
}

// write sends text at once. A timeout of the server holds for each write, and not for
// the whole answer.
func (e *eventStream) write(text string) error {
	// A writer that has no deadlines needs none. HTTP/2 ends a stream whose deadline has
	// passed, so that it must be after the next comment.
	_ = e.control.SetWriteDeadline(time.Now().Add(e.server.comment + answerTime))
	if _, err := e.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("taskhttp: send an event: %w", err)
	}
	if err := e.control.Flush(); err != nil {
		return fmt.Errorf("taskhttp: send an event: %w", err)
	}
	return nil
}
