package taskhttp

import (
	"math"
	"net/http"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/errtree"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// Limit says how a limit by key is used, see [taskkit.WithLimit].
type Limit struct {
	Key       string `json:"key"`
	AtMost    int    `json:"atMost"`    // what holds; if the jobs differ, the smallest of theirs
	Set       bool   `json:"set"`       // by an operator
	Executing int64  `json:"executing"` // jobs that hold a permit
	Waiting   int64  `json:"waiting"`   // jobs that wait for one
	// MoreWaiting: at least Waiting jobs wait, since not all were counted.
	MoreWaiting bool `json:"moreWaiting,omitempty"`
	// Jobs are the first jobs that hold a permit, by their ids, at most three.
	Jobs []LimitJob `json:"jobs,omitempty"`
}

// LimitJob is a job that holds a permit, and the worker that executes it.
type LimitJob struct {
	ID     taskkit.ID `json:"id"`
	Worker string     `json:"worker"`
}

// LimitPage is a page of the limits that are in use or set, by key.
type LimitPage struct {
	Limits []Limit `json:"limits"`
	// Next is the cursor of the next page; "": there is none.
	Next string `json:"next,omitempty"`
}

// listLimits sends a page of the limits.
func (s *Server) listLimits(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, "limit", "cursor")
	if err != nil {
		return err
	}
	limit, err := q.size()
	if err != nil {
		return err
	}
	after := q["cursor"]
	if !utf8.ValidString(after) || strings.ContainsRune(after, 0) {
		return ErrBadParameter.because("cursor must be the one of the page before")
	}
	found, err := s.ops.Limits(r.Context(), after, limit)
	if err != nil {
		return err
	}
	page := LimitPage{Limits: []Limit{}}
	for _, l := range found {
		out := Limit{Key: l.Key, AtMost: l.AtMost, Set: l.Set, Executing: l.Executing, Waiting: l.Waiting, MoreWaiting: l.MoreWaiting}
		for _, t := range l.Tasks {
			out.Jobs = append(out.Jobs, LimitJob{t.Task, t.Worker})
		}
		page.Limits = append(page.Limits, out)
	}
	if len(found) == limit {
		page.Next = found[limit-1].Key
		s.nextPage(w, r, page.Next)
	}
	writeJSON(w, http.StatusOK, mediaJSON, page)
	return nil
}

// limitBody is the body of a request that sets a limit.
type limitBody struct {
	AtMost setting `json:"atMost"`
}

var limitCodec = taskjson.Reflected[limitBody]()

// setLimit sets a limit. Its key is a parameter, since it is any text, and some texts cannot be in a path.
func (s *Server) setLimit(w http.ResponseWriter, r *http.Request, who Caller) error {
	q, err := query(r, "key")
	if err != nil {
		return err
	}
	raw, err := s.body(w, r, false, limitCodec.Check)
	if err != nil {
		return err
	}
	var b limitBody
	if err := limitCodec.Decode(raw, &b); err != nil {
		return refusedJSON(ErrNotJSON, err)
	}
	// The client takes 0 for a removal, which is another call here.
	if n := b.AtMost.value; n < 1 || n > math.MaxInt32 {
		return ErrBadParameter.because("atMost must be from 1 to %d; to hold jobs, pause them or their queue", math.MaxInt32)
	}
	return s.limit(w, r, who, q["key"], int(b.AtMost.value))
}

// removeLimit takes back what was set.
func (s *Server) removeLimit(w http.ResponseWriter, r *http.Request, who Caller) error {
	q, err := query(r, "key")
	if err != nil {
		return err
	}
	return s.limit(w, r, who, q["key"], 0)
}

func (s *Server) limit(w http.ResponseWriter, r *http.Request, who Caller, key string, atMost int) error {
	err := s.ops.SetLimit(r.Context(), key, atMost, taskkit.WithActor(who.Owner))
	if refused := errtree.All[*taskkit.OptionError](err); len(refused) > 0 {
		return ErrBadParameter.because("%s", refused[0].Problem)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
