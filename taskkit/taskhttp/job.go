package taskhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
)

// Status is the status of a job. It is derived from the status of the task and stored nowhere.
// A job that does not exist has none: it is a problem of type [ErrNoSuchJob].
type Status string

// The statuses.
const (
	Queuing   Status = "QUEUING"   // waits: see Job.Reason
	Running   Status = "RUNNING"   // a worker has it, or one of its children
	Stopping  Status = "STOPPING"  // it was stopped and finishes its current batch
	Succeeded Status = "SUCCEEDED" // done, or stopped: see Job.Partial
	Failed    Status = "FAILED"    // see Job.Error
	Deleted   Status = "DELETED"   // it was deleted and finishes its current batch
)

// Statuses returns all statuses.
func Statuses() []Status { return []Status{Queuing, Running, Stopping, Succeeded, Failed, Deleted} }

// Job is a task as clients may see it. Branch on Done, Fetchable and Links rather than
// on Status. Times are by the database's clock.
type Job struct {
	ID    taskkit.ID `json:"id"`
	Kind  string     `json:"kind"`
	Title string     `json:"title"` // of the kind, see [Title]
	// Revision changes with everything but ElapsedMS and the estimates of Progress.
	// It has no order. It is also the ETag.
	Revision string `json:"revision"`
	Status   Status `json:"status"`
	// Reason says why a job is QUEUING: worker, or one of the causes of package taskcause from paused to children.
	// Of a job that is RUNNING it is tried_again while an earlier try of its present batch has not succeeded.
	Reason    string `json:"reason,omitempty"`
	Done      bool   `json:"done"`      // it will not change any more, except that it may vanish
	Fetchable bool   `json:"fetchable"` // a fetch returns the result, or why there is none; false once it is erased
	Paused    bool   `json:"paused"`    // it waits for a resume, or will do so after its current batch
	Partial   bool   `json:"partial"`   // it SUCCEEDED by a stop, before it was done, or without parts that were left out
	Preview   bool   `json:"preview"`   // it changes nothing, and finds out what would be changed, see [Preview]

	CreatedAt  time.Time  `json:"createdAt"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	// ExpiresAt is when the result may be erased. The first fetch changes it. It is nil
	// while there is no result, and if it is kept for ever.
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	// ElapsedMS is the time from CreatedAt to now or to the end, in milliseconds.
	ElapsedMS int64 `json:"elapsedMs"`
	// Progress is nil before the job has begun, and while it is DELETED.
	Progress *Progress  `json:"progress"`
	ParentID taskkit.ID `json:"parentId,omitzero"` // the job of which this one is a child
	Error    *JobError  `json:"error,omitempty"`   // of a FAILED job
	// Links name the calls that would be accepted of the caller now and have an effect: self, result, items, preview,
	// stop, pause, resume, retry, approve, change, delete, and of a job that is read alone
	// retry-failed, continue, apply.
	Links map[string]Link `json:"links"`
}

// Link is a call.
type Link struct {
	Method string `json:"method"`
	Href   string `json:"href"`
	// File: what is fetched is a file to keep, and no JSON, see [FileResults].
	File bool `json:"file,omitempty"`
}

// JobError is why a job FAILED.
type JobError struct {
	Code  string `json:"code"` // a word such as target_gone, by which programs tell errors apart
	Title string `json:"title"`
}

// Progress counts the items of a job. What is not known is left out.
type Progress struct {
	Total     *int64   `json:"total,omitempty"`
	Processed int64    `json:"processed"` // succeeded, failed or skipped
	Succeeded int64    `json:"succeeded"`
	Failed    int64    `json:"failed"`
	Skipped   int64    `json:"skipped"`
	Remaining *int64   `json:"remaining,omitempty"`
	Percent   *float64 `json:"percent,omitempty"`
	// RatePerSecond and ETASeconds are estimates: the items in a second of the last
	// minute of work, and the range in which the working time that is left most likely
	// is. Only an answer that did not wait has them.
	RatePerSecond *float64    `json:"ratePerSecond,omitempty"`
	ETASeconds    *[2]float64 `json:"etaSeconds,omitempty"`
	// Text and State say both for people, as "2 of 3 stages, 4,100 of 10,000, about 3 min" and "running (reduced)". Only such an answer has them.
	Text  string `json:"text,omitempty"`
	State string `json:"state,omitempty"`
	// Custom is what the kind itself says of its progress: the JSON of what the method Progress(taskkit.Progress) of its state
	// returns, which may have any type. Answers to a watch and events have it, for kinds that were given to [Start]. The
	// method is called with a state whose secrets are masked. Custom may be newer than the counts.
	Custom json.RawMessage `json:"custom,omitempty"`
}

// reasonWorker is the reason of a job that waits for a worker.
const reasonWorker = "worker"

// reasons are the causes of a task that its owner is told as the reason of the job.
var reasons = []taskcause.Cause{
	taskcause.Paused, taskcause.Approval, taskcause.StopPolicy, taskcause.Rule, taskcause.ChildFailed,
	taskcause.Start, taskcause.Later, taskcause.Retry, taskcause.Window, taskcause.Rate, taskcause.Throttled, taskcause.Limit, taskcause.Children,
	taskcause.TriedAgain,
}

// never reports whether no worker has ever had a task. It does not become true again.
func never(t *taskkit.Task) bool { return t.Status == taskkit.StatusQueued && t.Fence == 0 }

// statusOf derives the status of a job.
func statusOf(t *taskkit.Task) Status {
	switch {
	case t.Control == taskkit.ControlDelete:
		return Deleted
	case t.Status == taskkit.StatusCompleted:
		return Succeeded
	case t.Ended():
		return Failed
	case t.Control == taskkit.ControlStop:
		return Stopping
	case t.Running():
		return Running
	}
	return Queuing
}

// reasonOf says why a job is QUEUING, or that an earlier try of what it is RUNNING failed. What executors and workers have
// written about it is for operators.
func reasonOf(t *taskkit.Task, status Status) string {
	c := t.Cause()
	switch {
	case status == Running && c != taskcause.TriedAgain:
		return ""
	case slices.Contains(reasons, c):
		return string(c)
	case status == Queuing:
		return reasonWorker
	}
	return ""
}

// snapshot makes a job of a task that was read some time ago, without title and links.
func snapshot(t *taskkit.Task, ago time.Duration) *Job {
	j := &Job{
		ID: t.ID, Kind: t.Kind, Title: t.Kind, Status: statusOf(t), ParentID: t.Parent,
		Paused: t.Control == taskkit.ControlPause && !t.Ended(), Partial: t.Partial, Preview: t.Preview,
		CreatedAt: t.Created.UTC(), StartedAt: utc(t.Started), FinishedAt: utc(t.Stopped),
		ExpiresAt: utc(t.ResultExpires),
	}
	elapsed := t.Elapsed
	if !t.Ended() {
		elapsed += ago
	}
	j.ElapsedMS = max(elapsed.Milliseconds(), 0)
	j.Done = j.Status == Succeeded || j.Status == Failed || j.Status == Deleted
	j.Fetchable = j.Done && j.Status != Deleted && !t.ResultErased
	switch j.Status {
	case Queuing, Running:
		j.Reason = reasonOf(t, j.Status)
	case Failed:
		j.Error = &JobError{Code: codeOf(t.StatusDetail), Title: "The job has failed"}
	default:
	}
	if j.Status != Deleted && !never(t) {
		j.Progress = progressOf(t.Progress)
	}
	j.Revision = statusPart(t, j) + "." + progressPart(t)
	return j
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// code matches the code of an error, which is for clients.
var code = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// codeOf returns the code with which the detail of a status begins. The rest is for
// operators only.
func codeOf(detail string) string {
	c, _, _ := strings.Cut(detail, ":")
	if !code.MatchString(c) {
		return "failed"
	}
	return c
}

func progressOf(p taskkit.Progress) *Progress {
	out := &Progress{Processed: p.Processed(), Succeeded: p.Done, Failed: p.Failed, Skipped: p.Skipped}
	if p.Total < 0 {
		return out
	}
	remaining := max(p.Total-out.Processed, 0)
	out.Total, out.Remaining = &p.Total, &remaining
	if p.Total > 0 {
		percent := math.Floor(min(float64(out.Processed)/float64(p.Total), 1)*1000) / 10
		out.Percent = &percent
	}
	return out
}

// estimate adds what is measured of a task's work.
func (p *Progress) estimate(m *taskkit.TaskProgress) {
	p.Text, p.State = m.Text(), m.State()
	if m.Rate > 0 {
		p.RatePerSecond = &m.Rate
	}
	if m.TimeLeft != nil {
		p.ETASeconds = &[2]float64{m.TimeLeft.Low.Seconds(), m.TimeLeft.High.Seconds()}
	}
}

// A revision has two parts, since a watcher that wants no progress is answered when
// the first changes.
func statusPart(t *taskkit.Task, j *Job) string {
	failed := ""
	if j.Error != nil {
		failed = j.Error.Code
	}
	expires := int64(0)
	if j.ExpiresAt != nil {
		expires = j.ExpiresAt.UnixMilli()
	}
	return digest(j.ID, j.Status, j.Reason, j.Paused, j.Partial, failed, t.Fence, expires, j.Fetchable)
}

func progressPart(t *taskkit.Task) string { return digest(t.Progress, t.Checkpoints) }

func digest(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%v", parts))
	return hex.EncodeToString(sum[:6])
}

// revisionForm matches a revision.
var revisionForm = regexp.MustCompile(`^[0-9a-f]{12}\.[0-9a-f]{12}$`)

// cutRevision returns the two parts of a revision.
func cutRevision(revision string) (status, progress string) {
	status, progress, _ = strings.Cut(revision, ".")
	return status, progress
}

// open reports whether a job goes on until its work is done.
func (j *Job) open() bool { return !j.Done && j.Status != Stopping }

// zero is no id.
var zero uuid.UUID
