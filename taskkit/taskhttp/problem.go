package taskhttp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problemBase is the beginning of the types of problems.
const problemBase = "https://taskkit.dev/problems/"

// Error is a problem document (RFC 9457). The server sends nothing else when a call does
// not succeed, and a [Client] returns it. Use errors.As to find it. A function given to
// [Before] may return one with a status from 400 to 499, which is sent as it is.
type Error struct {
	// Type is a URI that identifies the problem and never changes, see [Error.Is].
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail,omitempty"`
	// Errors says what is wrong where in a body.
	Errors []FieldProblem `json:"errors,omitempty"`
	// Code is the code of the error with which a job failed.
	Code string `json:"code,omitempty"`
	// Job is the job that the problem is about. Its links name what is possible now.
	Job *Job `json:"job,omitempty"`
	// Incident is in the log of the server too, with the error that is not sent.
	Incident string `json:"incident,omitempty"`

	// RetryAfter is how long to wait before another try; zero if that does not help.
	// It is the header Retry-After.
	RetryAfter time.Duration `json:"-"`

	header http.Header // further headers
}

// FieldProblem is what is wrong with one value of a body.
type FieldProblem struct {
	// Pointer is the place as RFC 6901 writes it, such as /people/3/id.
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Error returns the title and what is known besides.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "taskhttp: %d %s", e.Status, e.Title)
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	for _, f := range e.Errors {
		fmt.Fprintf(&b, "; %s: %s", f.Pointer, f.Detail)
	}
	if e.Incident != "" {
		fmt.Fprintf(&b, "; incident %s", e.Incident)
	}
	return b.String()
}

// Is reports whether target is an *Error of the same type, so that errors.Is(err,
// ErrNotDone) can be written.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Type == e.Type
}

// The problems. Compare with errors.Is.
var (
	ErrBadParameter    = problem("bad-parameter", http.StatusBadRequest, "A parameter of the request cannot be used")
	ErrNotJSON         = problem("not-json", http.StatusBadRequest, "The body is not JSON that can be stored")
	ErrUnauthenticated = problem("unauthenticated", http.StatusUnauthorized, "It is not known who you are")
	ErrForbidden       = problem("forbidden", http.StatusForbidden, "You may not do this")
	ErrCrossOrigin     = problem("cross-origin", http.StatusForbidden, "The request comes from another site")
	ErrNoSuchJob       = problem("no-such-job", http.StatusNotFound, "There is no such job")
	ErrNoSuchSchedule  = problem("no-such-schedule", http.StatusNotFound, "There is no such schedule")
	ErrNoSuchPath      = problem("no-such-path", http.StatusNotFound, "There is nothing here")
	ErrMethod          = problem("method", http.StatusMethodNotAllowed, "The method is not allowed here")
	ErrNotAcceptable   = problem("not-acceptable", http.StatusNotAcceptable, "The answer is in none of the media types that you accept")
	ErrNotDone         = problem("not-done", http.StatusConflict, "The job is not done yet")
	ErrNotPossible     = problem("not-possible", http.StatusConflict, "The status of the job does not allow this")
	ErrKeyTaken        = problem("key-taken", http.StatusConflict, "Another job has the unique key of this one")
	ErrSuperseded      = problem("superseded", http.StatusConflict, "A newer version of the same thing was submitted before")
	ErrDeleted         = problem("deleted", http.StatusGone, "The job is being deleted")
	ErrExpired         = problem("expired", http.StatusGone, "The result has expired and is erased")
	ErrRetired         = problem("kind-retired", http.StatusGone, "Jobs of this kind cannot be started any more")
	ErrPrecondition    = problem("precondition-failed", http.StatusPreconditionFailed, "It is not as the request requires")
	ErrBodyTooLarge    = problem("body-too-large", http.StatusRequestEntityTooLarge, "The body is too large")
	ErrRange           = problem("range", http.StatusRequestedRangeNotSatisfiable, "The file of the result has no such range")
	ErrMediaType       = problem("media-type", http.StatusUnsupportedMediaType, "The body must be application/json in UTF-8, not compressed")
	ErrSpec            = problem("spec-refused", http.StatusUnprocessableEntity, "The spec of the job is refused")
	ErrSchedule        = problem("schedule-refused", http.StatusUnprocessableEntity, "The schedule is refused")
	ErrKeyReused       = problem("key-reused", http.StatusUnprocessableEntity, "The idempotency key was used with another body")
	ErrJobFailed       = problem("job-failed", http.StatusFailedDependency, "The job has failed")
	ErrTooManyRequests = problem("too-many-requests", http.StatusTooManyRequests, "Too many requests") // for functions given to Before
	ErrTooManyWaits    = problem("too-many-watchers", http.StatusTooManyRequests, "Too many requests are waiting for jobs")
	ErrInternal        = problem("internal", http.StatusInternalServerError, "The server has made a mistake")
	ErrUnavailable     = problem("unavailable", http.StatusServiceUnavailable, "The server cannot answer now")
	ErrShuttingDown    = problem("shutting-down", http.StatusServiceUnavailable, "The server shuts down")
	problemDocuments   = []*Error{
		ErrBadParameter, ErrNotJSON, ErrUnauthenticated, ErrForbidden, ErrCrossOrigin, ErrNoSuchJob, ErrNoSuchSchedule, ErrNoSuchPath, ErrMethod,
		ErrNotAcceptable, ErrNotDone, ErrNotPossible, ErrKeyTaken, ErrSuperseded, ErrDeleted, ErrExpired, ErrRetired, ErrPrecondition, ErrBodyTooLarge, ErrRange, ErrMediaType, ErrSpec,
		ErrSchedule, ErrKeyReused, ErrJobFailed, ErrTooManyRequests, ErrTooManyWaits, ErrInternal, ErrUnavailable, ErrShuttingDown,
	}
)

// retryLater is the Retry-After of what passes by itself.
const retryLater = 2 * time.Second

func problem(name string, status int, title string) *Error {
	return &Error{Type: problemBase + name, Status: status, Title: title}
}

// because returns a copy of a problem with a detail for the client.
func (e *Error) because(format string, args ...any) *Error {
	p := *e
	p.Detail = fmt.Sprintf(format, args...)
	return &p
}

// of returns a copy of a problem about a job.
func (e *Error) of(j *Job) *Error {
	p := *e
	p.Job = j
	return &p
}

// later returns a copy of a problem that passes.
func (e *Error) later(d time.Duration) *Error {
	p := *e
	p.RetryAfter = d
	return &p
}

// with returns a copy of a problem with a header.
func (e *Error) with(name, value string) *Error {
	p := *e
	p.header = p.header.Clone()
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return &p
}

// write sends the problem.
func (e *Error) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), e.header)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	writeJSON(w, e.Status, "application/problem+json", e)
}

// seconds writes a duration as Retry-After has it, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// writeJSON sends a value of this package's own, which JSON can hold.
func writeJSON(w http.ResponseWriter, status int, mediaType string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("taskhttp: an answer cannot be encoded: %v", err))
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	// Who does not read the answer any more need not be told.
	_, _ = w.Write(append(body, '\n'))
}
