package taskhttp

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Page is a page of the jobs of a caller, newest first.
type Page struct {
	Jobs []*Job `json:"jobs"`
	// Next is the cursor of the next page; "": there is none. A page that has one may
	// have fewer jobs than its limit.
	Next string `json:"next,omitempty"`
}

// The sizes of a page.
const (
	defaultPage = 50
	maxPage     = 200
)

// list sends a page of the caller's jobs.
func (s *Server) list(w http.ResponseWriter, r *http.Request, who Caller) error {
	if !s.may(r.Context(), who, OpList, nil) {
		return ErrForbidden
	}
	q, err := query(r, "kind", "status", "children", "parent", "limit", "cursor")
	if err != nil {
		return err
	}
	f, err := q.filter()
	if err != nil {
		return err
	}
	f.Owner = who.Owner
	tasks, next, err := s.client.Tasks(r.Context(), f)
	if err == nil {
		err = s.markPreviews(r.Context(), tasks)
	}
	if err != nil {
		return err
	}
	page := Page{Jobs: []*Job{}}
	for i, j := range s.listed(r.Context(), who, tasks) {
		if shows(q["status"], j.Status) && s.may(r.Context(), who, OpWatch, tasks[i]) {
			page.Jobs = append(page.Jobs, j)
		}
	}
	page.Next = s.nextJobs(w, r, next)
	writeJSON(w, http.StatusOK, "application/json", page)
	return nil
}

// filter makes a filter of the parameters.
func (p parameters) filter() (taskkit.Filter, error) {
	var f taskkit.Filter
	if kind := p["kind"]; kind != "" {
		if !kindForm.MatchString(kind) {
			return f, ErrBadParameter.because("kind must be the name of a kind")
		}
		f.Kinds = []string{kind}
	}
	var err error
	if f.Limit, err = p.size(); err != nil {
		return f, err
	}
	if f.Before, err = p.jobCursor(); err != nil {
		return f, err
	}
	if text, ok := p["status"]; ok {
		if !slices.Contains(Statuses(), Status(text)) {
			return f, ErrBadParameter.because("status must be one of %v", Statuses())
		}
		f.Statuses, f.Running = stored(Status(text)), text == string(Running)
	}
	if f.Children, err = p.flag("children"); err != nil {
		return f, err
	}
	f.Parent, err = p.id("parent")
	return f, err
}

// shows reports whether a list by a status, "" for all, has a job. The filter selects by what is stored, from which the
// status of a job differs after a request, and when a child has ended between the two reads.
func shows(listed string, got Status) bool { return listed == "" || listed == string(got) }

// jobCursor reads the parameter cursor of a list of jobs; the zero ID: the first page.
func (p parameters) jobCursor() (taskkit.ID, error) {
	text, ok := p["cursor"]
	if !ok {
		return zero, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return zero, ErrBadParameter.because("cursor must be the one of the page before")
	}
	return id, nil
}

// size reads the parameter limit of a list.
func (p parameters) size() (int, error) {
	text, ok := p["limit"]
	if !ok {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPage {
		return 0, ErrBadParameter.because("limit must be between 1 and %d", maxPage)
	}
	return n, nil
}

// nextJobs returns the cursor of the page that begins after a job, and adds its header; "" for the zero ID: there is none.
func (s *Server) nextJobs(w http.ResponseWriter, r *http.Request, after taskkit.ID) string {
	if after == zero {
		return ""
	}
	s.nextPage(w, r, after.String())
	return after.String()
}

// nextPage adds the header of the next page, which begins after a cursor.
func (s *Server) nextPage(w http.ResponseWriter, r *http.Request, cursor string) {
	values := r.URL.Query()
	values.Set("cursor", cursor)
	w.Header().Set("Link", "<"+s.external((&url.URL{Path: r.URL.Path, RawQuery: values.Encode()}).String())+`>; rel="next"`)
}

// stored returns the statuses of tasks that a job of a status may have. For RUNNING the filter has another condition.
func stored(s Status) []taskkit.Status {
	switch s {
	case Queuing:
		return []taskkit.Status{taskkit.StatusQueued}
	case Stopping:
		return []taskkit.Status{taskkit.StatusQueued, taskkit.StatusScheduling, taskkit.StatusExecuting}
	case Succeeded:
		return []taskkit.Status{taskkit.StatusCompleted}
	case Failed:
		return []taskkit.Status{taskkit.StatusFailure, taskkit.StatusError}
	case Running, Deleted:
	}
	return nil // any
}
