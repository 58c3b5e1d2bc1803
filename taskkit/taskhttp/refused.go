package taskhttp

import (
	"errors"
	"net/http"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskops"
)

// problems are the problems of the errors of the library, for handlers that do not say more. The first that matches counts.
var problems = []struct {
	is      func(error) bool
	problem *Error
}{
	{one(taskkit.ErrRetired), ErrRetired},
	{one(taskkit.ErrNotFound), ErrNoSuchJob},
	{one(taskkit.ErrNoResult), ErrNotDone},
	{one(taskkit.ErrExpired), ErrExpired},
	{one(taskops.ErrNoSchedule), ErrNoSuchSchedule},
	{a[*taskkit.SpecError], ErrSpec},
	{a[*taskkit.TargetsError], ErrSpec},
	{a[*taskops.ScheduleError], ErrSchedule},
	{a[*taskkit.DuplicateError], ErrKeyTaken},
	{a[*taskkit.CoalesceError], ErrKeyTaken},
	{a[*taskkit.SupersededError], ErrSuperseded},
	{a[*taskkit.StateError], ErrNotPossible},
	{a[*taskkit.ChildError], ErrNotPossible},
	{a[*taskkit.PausedError], ErrNotPossible},
	{a[*taskkit.ItemsError], ErrNotPossible},
	{a[*taskkit.CorrectionsError], ErrNotPossible},
	{a[*taskkit.PreviewError], ErrNotPossible},
	{a[*taskkit.IDError], ErrNoSuchJob},
	{a[*taskkit.OptionError], ErrInternal},
	{a[*taskkit.UsageError], ErrInternal},
	{a[*taskkit.RevisionError], ErrInternal},
	{a[*taskkit.SchemaError], ErrUnavailable},
	{a[*taskkit.RefusedError], ErrUnavailable},
	{a[*taskkit.ConnectError], ErrUnavailable},
	{a[*taskjson.Error], ErrNotJSON},
}

func one(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func a[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// problemOf returns the problem of an error of this package or of the library; nil: it is another error.
func problemOf(err error) *Error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	for _, p := range problems {
		if p.is(err) {
			return p.problem
		}
	}
	return nil
}

// refuse sends why a request was not served. The text of an error that is no problem of this package is not
// sent, and logged with an incident if the client is not to blame.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if p, ok := errors.AsType[*Error](err); ok {
		p.write(w)
		return
	}
	p := problemOf(err)
	switch {
	case p != nil && p.Status < http.StatusInternalServerError:
		p.write(w)
		return
	case p == nil && !taskkit.IsPermanent(r.Context(), err):
		p = ErrUnavailable
	case p == nil:
		p = ErrInternal
	}
	if p.Status == http.StatusServiceUnavailable {
		p = p.later(retryLater)
	}
	s.incident(r, p, err).write(w)
}

// beforeError is an error of a function given to [Before], of which a repetition makes sense only if it is known to pass.
type beforeError struct{ err error }

func (e *beforeError) Error() string { return "before the start of a job: " + e.err.Error() }

func (e *beforeError) Unwrap() error { return e.err }

// ofBefore returns the problem of an error that a function given to [Before] has returned. One of which nothing is known is a mistake of
// the service: a repetition would end in the same way.
func (s *Server) ofBefore(r *http.Request, e *beforeError) error {
	switch p := problemOf(e.err); {
	case p != nil && p.Status < http.StatusInternalServerError:
		return p
	case p == nil && !taskkit.IsTransient(e.err):
		return s.incident(r, ErrInternal, e)
	}
	return e
}
