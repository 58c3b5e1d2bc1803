package taskhttp

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
)

// OperatorJob is a job of anybody as operators may see it: neither spec, state and result nor the text of an error.
type OperatorJob struct {
	ID     taskkit.ID `json:"id"`
	Kind   string     `json:"kind"`
	Queue  string     `json:"queue"`
	Owner  uuid.UUID  `json:"owner"`
	Status Status     `json:"status"`
	// Cause is why the job is where it is, in a word of package taskcause.
	Cause      taskcause.Cause  `json:"cause"`
	Code       string           `json:"code,omitempty"` // of a job that has FAILED
	Paused     bool             `json:"paused"`
	Priority   taskkit.Priority `json:"priority"`
	Attempts   int              `json:"attempts"` // since its last checkpoint
	Worker     string           `json:"worker,omitempty"`
	ParentID   taskkit.ID       `json:"parentId,omitzero"`
	CreatedAt  time.Time        `json:"createdAt"`
	StartedAt  *time.Time       `json:"startedAt,omitempty"`
	FinishedAt *time.Time       `json:"finishedAt,omitempty"`
	Progress   *Progress        `json:"progress"` // nil before the job has begun
}

// OperatorPage is a page of the jobs of everybody, newest first.
type OperatorPage struct {
	Jobs []OperatorJob `json:"jobs"`
	// Next is the cursor of the next page; "": there is none. A page that has one may
	// have fewer jobs than its limit.
	Next string `json:"next,omitempty"`
}

// Explained is a job with why it is where it is. Its texts may have anything that executors have put into errors.
type Explained struct {
	Job OperatorJob `json:"job"`
	// Explanation is one sentence.
	Explanation string `json:"explanation"`
	// Attempts are the last ones that failed, and Events what was requested last, newest first; at most 20 each.
	Attempts []FailedAttempt `json:"attempts"`
	Events   []JobEvent      `json:"events"`
}

// FailedAttempt is a failed attempt of a batch.
type FailedAttempt struct {
	At      time.Time `json:"at"`
	Worker  string    `json:"worker"`
	Attempt int       `json:"attempt"`
	Class   string    `json:"class"` // see taskkit.Attempt
	Code    string    `json:"code"`
	Detail  string    `json:"detail"`
}

// JobEvent is a request that was made of a job, the action of a policy, or the loss of a worker (action "lost").
type JobEvent struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Actor  uuid.UUID `json:"actor,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Worker string    `json:"worker,omitempty"` // the worker that was lost
}

// listAllJobs sends a page of the jobs of everybody.
func (s *Server) listAllJobs(w http.ResponseWriter, r *http.Request, _ Caller) error {
	q, err := query(r, "kind", "status", "queue", "owner", "children", "parent", "limit", "cursor")
	if err != nil {
		return err
	}
	f, err := q.filter()
	if err != nil {
		return err
	}
	if f.Queue = q["queue"]; f.Queue != "" && !nameForm.MatchString(f.Queue) {
		return ErrBadParameter.because("queue must be the name of a queue")
	}
	if f.Owner, err = q.id("owner"); err != nil {
		return err
	}
	tasks, next, err := s.client.Tasks(r.Context(), f)
	if err != nil {
		return err
	}
	explained, err := s.client.ExplainAll(r.Context(), tasks)
	if err != nil {
		return err
	}
	page := OperatorPage{Jobs: []OperatorJob{}}
	for i, t := range tasks {
		if j := operatorJob(t, explained[i]); shows(q["status"], j.Status) {
			page.Jobs = append(page.Jobs, j)
		}
	}
	page.Next = s.nextJobs(w, r, next)
	writeJSON(w, http.StatusOK, mediaJSON, page)
	return nil
}

// id reads a parameter that is an id; the zero UUID: it is left out.
func (p parameters) id(name string) (uuid.UUID, error) {
	text, ok := p[name]
	if !ok {
		return zero, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == zero {
		return zero, ErrBadParameter.because("%s must be a UUID", name)
	}
	return id, nil
}

func operatorJob(t *taskkit.Task, why *taskkit.Explanation) OperatorJob {
	j := snapshot(t, 0)
	out := OperatorJob{
		ID: t.ID, Kind: t.Kind, Queue: t.Queue, Owner: t.Owner, Status: j.Status, Cause: why.Cause, Paused: j.Paused, Priority: t.Priority,
		Attempts: t.Attempts, Worker: t.Worker, ParentID: t.Parent, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt, Progress: j.Progress,
	}
	if j.Error != nil {
		out.Code = j.Error.Code
	}
	return out
}

// explainedLines is how many attempts and events an explanation has.
const explainedLines = 20

// explainJob sends why a job of anybody is where it is.
func (s *Server) explainJob(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || len(r.PathValue("id")) != 36 {
		return ErrNoSuchJob
	}
	t, err := s.client.Task(r.Context(), id)
	if err != nil {
		return err
	}
	why, err := s.client.ExplainAll(r.Context(), []*taskkit.Task{t})
	if err != nil {
		return err
	}
	attempts, err := s.client.Attempts(r.Context(), id, explainedLines)
	events, eventsErr := s.client.Events(r.Context(), id, explainedLines)
	if err := errors.Join(err, eventsErr); err != nil {
		return err
	}
	out := Explained{Job: operatorJob(t, why[0]), Explanation: why[0].Text, Attempts: []FailedAttempt{}, Events: []JobEvent{}}
	for _, a := range attempts {
		out.Attempts = append(out.Attempts, FailedAttempt{a.Created.UTC(), a.Worker, a.Attempt, a.Class, a.Code, a.Detail})
	}
	for _, e := range events {
		out.Events = append(out.Events, JobEvent{e.Created.UTC(), e.Action, e.Actor, e.Reason, e.Worker})
	}
	writeJSON(w, http.StatusOK, mediaJSON, out)
	return nil
}

// Worker is a worker process.
type Worker struct {
	ID          string           `json:"id"`
	Version     string           `json:"version"`
	Kinds       map[string][]int `json:"kinds"` // kind to the revisions it reads
	Queues      []string         `json:"queues"`
	Slots       int              `json:"slots"`
	Busy        int              `json:"busy"`
	Draining    bool             `json:"draining"`
	SafeMode    bool             `json:"safeMode"`
	Alive       bool             `json:"alive"`
	StartedAt   time.Time        `json:"startedAt"`
	HeartbeatAt time.Time        `json:"heartbeatAt"`
	SilenceMS   int64            `json:"silenceMs"` // since the heartbeat
	EndedAt     *time.Time       `json:"endedAt,omitempty"`
	EndReason   string           `json:"endReason,omitempty"`
}

// WorkerList are the live workers, and those that ended within the last hour.
type WorkerList struct {
	Workers []Worker `json:"workers"`
}

// listWorkers sends the workers.
func (s *Server) listWorkers(w http.ResponseWriter, r *http.Request, _ Caller) error {
	if _, err := query(r); err != nil {
		return err
	}
	found, err := s.ops.Workers(r.Context())
	if err != nil {
		return err
	}
	list := WorkerList{Workers: []Worker{}}
	for _, p := range found {
		list.Workers = append(list.Workers, Worker{
			ID: p.ID, Version: p.Version, Kinds: p.Kinds, Queues: p.Queues, Slots: p.Slots, Busy: p.Busy, Draining: p.Draining, SafeMode: p.SafeMode,
			Alive: p.Alive, StartedAt: p.Started.UTC(), HeartbeatAt: p.Heartbeat.UTC(), SilenceMS: max(p.Silence.Milliseconds(), 0),
			EndedAt: utc(p.Ended), EndReason: p.EndReason,
		})
	}
	writeJSON(w, http.StatusOK, mediaJSON, list)
	return nil
}
