package taskhttp

import (
	"context"
	"net/http"
	"time"

	"taskkit.dev/taskkit"
)

// job makes the answer about a task that was read some time ago.
func (s *Server) job(ctx context.Context, who Caller, t *taskkit.Task, ago time.Duration) *Job {
	j := s.unlinked(t, ago)
	s.link(ctx, who, t, j, s.refusals(ctx, who, t)[t.ID])
	for _, f := range followUps {
		if f.possible(t, j) && s.may(ctx, who, f.op, t) && f.check(s.client, ctx, t.ID) == nil {
			j.Links[string(f.op)] = Link{Method: http.MethodPost, Href: j.Links["self"].Href + "/" + string(f.op)}
		}
	}
	return j
}

// listed makes the answers about the tasks of a list. What jobs can be made of them takes several queries each, and is left out.
func (s *Server) listed(ctx context.Context, who Caller, tasks []*taskkit.Task) []*Job {
	refusals := s.refusals(ctx, who, tasks...)
	jobs := make([]*Job, len(tasks))
	for i, t := range tasks {
		jobs[i] = s.unlinked(t, 0)
		s.link(ctx, who, t, jobs[i], refusals[t.ID])
	}
	return jobs
}

// unlinked makes the answer about a task without its links.
func (s *Server) unlinked(t *taskkit.Task, ago time.Duration) *Job {
	j := snapshot(t, ago)
	if k, ok := s.kind(t.Kind); ok {
		j.Title = k.title
	}
	return j
}

// refusals returns what tasks would refuse. If that cannot be read it returns none: nothing is offered then.
func (s *Server) refusals(ctx context.Context, who Caller, tasks ...*taskkit.Task) map[taskkit.ID]*taskkit.Refusals {
	found, err := s.client.Refusals(ctx, who.Owner, tasks...)
	if err != nil {
		s.config.Logger.WarnContext(ctx, "it is not known which requests of jobs are possible, so none is offered", "jobs", len(tasks), "error", err)
	}
	return found
}

// link adds the calls that would be accepted of who now and have an effect: by the status of the job and by what the
// task would refuse, both as the handlers of the calls decide, and by what who may do.
func (s *Server) link(ctx context.Context, who Caller, t *taskkit.Task, j *Job, refused *taskkit.Refusals) {
	self := s.path(j.ID)
	j.Links = map[string]Link{"self": {Method: http.MethodGet, Href: self}}
	add := func(name string, accepted bool, op Operation, method, href string) {
		if accepted && s.may(ctx, who, op, t) {
			j.Links[name] = Link{Method: method, Href: href, File: op == OpFetch && s.file(t) != nil}
		}
	}
	add("result", j.Status == Succeeded && j.Fetchable, OpFetch, http.MethodGet, self+"/result")
	add("items", j.Status != Deleted, OpItems, http.MethodGet, self+"/items")
	add("preview", j.Status != Deleted && j.Preview, OpItems, http.MethodGet, self+"/preview")
	if refused == nil {
		return
	}
	for _, c := range changes {
		add(string(c.op), c.decide(t, j) == possible && c.refusal(refused) == nil, c.op, http.MethodPost, self+"/"+string(c.op))
	}
	add("change", j.open() && refused.Change == nil, OpChange, http.MethodPatch, self)
	add("delete", j.Status != Deleted && refused.Delete == nil, OpDelete, http.MethodDelete, self)
}

// path is the path of a job as clients see it.
func (s *Server) path(id taskkit.ID) string { return s.external(s.config.Prefix + "/" + id.String()) }

// external is a path of this server as clients see it.
func (s *Server) external(path string) string { return s.config.External + path }
