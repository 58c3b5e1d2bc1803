package taskhttp

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"taskkit.dev/taskkit"
)

// result sends the result of a job that is done, of any kind or of the one in the path. Only a GET counts as a fetch.
func (s *Server) result(w http.ResponseWriter, r *http.Request, who Caller) error {
	t, err := s.task(r, who, OpFetch)
	if err != nil {
		return err
	}
	if kind := r.PathValue("kind"); kind != "" && kind != t.Kind {
		return ErrNoSuchJob
	}
	if _, err := query(r); err != nil {
		return err
	}
	j := s.job(r.Context(), who, t, 0)
	switch {
	case j.Status == Deleted:
		return ErrDeleted.of(j)
	case t.ResultErased:
		return ErrExpired.of(j)
	case !j.Done:
		return ErrNotDone.of(j).later(time.Second)
	case j.Status == Failed:
		p := ErrJobFailed.of(j)
		p.Code = j.Error.Code
		return p
	}
	err = s.sendResult(w, r, who, t, j)
	switch {
	case errors.Is(err, taskkit.ErrNoResult):
		w.WriteHeader(http.StatusNoContent)
		return nil
	case errors.Is(err, taskkit.ErrExpired):
		return ErrExpired.of(j)
	case errors.Is(err, taskkit.ErrNotFound):
		return ErrNoSuchJob
	}
	return err
}

// sendResult sends a result as JSON or as its file.
func (s *Server) sendResult(w http.ResponseWriter, r *http.Request, who Caller, t *taskkit.Task, j *Job) error {
	if open := s.file(t); open != nil {
		return s.sendFile(w, r, who, j, open)
	}
	raw, err := s.fetch(r, t)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	// Who does not read the result any more can fetch it again.
	_, _ = w.Write(raw)
	return nil
}

// fetch reads a result as the present revision of its kind has it, or as it is stored if
// the server does not know the kind.
func (s *Server) fetch(r *http.Request, t *taskkit.Task) ([]byte, error) {
	if r.Method == http.MethodHead {
		return s.client.Result(r.Context(), t.ID)
	}
	if k, ok := s.kind(t.Kind); ok {
		return k.fetch(r.Context(), s.client, t.ID)
	}
	return s.client.FetchJSON(r.Context(), t.ID)
}
