package taskui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// taskView is the data of the page of a task.
type taskView struct {
	Task      *taskkit.Task
	Status    string
	Class     string // of the status
	Bar       bar
	Spark     *sparkline
	Outcomes  []outcomeTab
	Progress  *taskkit.TaskProgress
	Left      string // how long the rest takes
	Why       string // it is where it is
	Error     taskError
	Forms     []verbForm
	Refused   []refusedVerb
	Timeline  []entry
	Parts     *partsView // nil: it has no children
	Preview   *taskkit.PreviewReport
	Spec      text
	State     text
	Result    text
	Expired   bool // the result is erased
	Facts     []fact
	Operator  bool // see request.operator
	Say       string
	MayItems  bool
	MayResult bool
}

// taskError is why a task has failed.
type taskError struct{ Code, Detail string }

// fact is a property of a task; with a path below the dashboard it is a link.
type fact struct{ Name, Value, Path string }

// text is a text that may be long.
type text struct {
	Text string
	More int64 // bytes that are not shown
}

// Title implements titled.
func (v *taskView) Title() string { return v.Task.Kind }

// How much of a task its page shows.
const (
	shownText     = 20_000 // bytes of spec, state and result
	shownAttempts = 20
	shownEvents   = 50
	shownParts    = 500
)

// showTask reads the page of a task.
func showTask(r *request) (any, error) {
	ctx, c := r.Context(), r.d.client
	t, err := r.task(ctx)
	if err != nil {
		return nil, err
	}
	switch r.URL.Query().Get("live") { // these parts need little more than the task
	case "facts":
		return &taskView{Task: t, Facts: r.facts(t)}, nil
	case "result":
		v := &taskView{Task: t}
		return v, r.readResult(ctx, v)
	}
	v := &taskView{Task: t, Status: statusText(t), Class: statusClass(t), Bar: newBar(t.Progress), Operator: r.operator()}
	if v.Progress, err = c.Progress(ctx, t.ID); err != nil {
		return nil, err
	}
	v.Left, v.Spark = timeLeft(v.Progress), newSparkline(v.Progress.Rates)
	v.Say = v.Status + ", " + v.Bar.Text
	explained, err := c.ExplainAll(ctx, []*taskkit.Task{t})
	if err != nil {
		return nil, err
	}
	if hasFailed(t) {
		v.Error.Code, v.Error.Detail = splitDetail(t.StatusDetail)
	}
	if v.Operator {
		v.Why = explained[0].Text
	} else { // the text may have errors and workers
		v.Error.Detail, v.Why = "", causes[explained[0].Cause]
	}
	if v.Forms, v.Refused, err = r.offers(ctx, t); err != nil {
		return nil, err
	}
	if v.Timeline, err = r.timeline(ctx, t); err != nil {
		return nil, err
	}
	if t.Children != nil {
		if v.Parts, err = r.readParts(ctx, t, taskkit.ID{}, shownParts); err != nil {
			return nil, err
		}
	}
	if v.MayItems = r.may(ctx, taskhttp.OpItems, t); v.MayItems {
		v.Outcomes = outcomeTabs(t, "")
		if t.Preview {
			if v.Preview, err = c.Preview(ctx, t.ID); err != nil {
				return nil, err
			}
		}
	}
	if r.URL.Query().Get("live") != "" {
		return v, nil
	}
	if v.Operator {
		v.Spec, v.State = indented(t.SpecJSON), indented(t.StateJSON) // secrets are masked
	}
	v.Facts = r.facts(t)
	return v, r.readResult(ctx, v)
}

// readResult reads the result of a task that has completed, of which the secrets are masked.
func (r *request) readResult(ctx context.Context, v *taskView) error {
	if v.MayResult = r.may(ctx, taskhttp.OpFetch, v.Task); !v.MayResult || v.Task.Status != taskkit.StatusCompleted {
		return nil
	}
	result, err := r.d.client.Result(ctx, v.Task.ID)
	switch {
	case errors.Is(err, taskkit.ErrExpired):
		v.Expired = true
	case err != nil && !errors.Is(err, taskkit.ErrNoResult):
		return err
	default:
		v.Result = indented(result)
	}
	return nil
}

// indented returns JSON for people, and its beginning if it is long.
func indented(raw []byte) text {
	var out bytes.Buffer
	if len(raw) > 1<<20 || json.Indent(&out, raw, "", "  ") != nil {
		out.Reset()
		out.Write(raw)
	}
	s := out.String()
	if len(s) <= shownText {
		return text{clean(s), 0}
	}
	return text{clean(s[:shownText]), int64(len(s) - shownText)}
}

// splitDetail splits the detail of a status into the code of the error and its text.
func splitDetail(detail string) (code, rest string) {
	for i := range len(detail) {
		c := detail[i]
		if c == ':' && i > 0 {
			return detail[:i], clean(detail[i+1:])
		}
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			break
		}
		if i == len(detail)-1 {
			return detail, ""
		}
	}
	return "failed", clean(detail)
}

// timeLeft returns how long the rest takes, as a range.
func timeLeft(p *taskkit.TaskProgress) string {
	if p.TimeLeft == nil {
		return ""
	}
	low, high := roughly(p.TimeLeft.Low), roughly(p.TimeLeft.High)
	out := low + " to " + high
	if low == high {
		out = low
	}
	if p.FromEarlier {
		out += ", by earlier tasks of the kind"
	}
	return out
}

// roughly returns a duration that does not change with each second.
func roughly(d time.Duration) string {
	for _, step := range []struct{ from, to time.Duration }{
		{24 * time.Hour, time.Hour}, {time.Hour, 5 * time.Minute}, {10 * time.Minute, time.Minute}, {time.Minute, 10 * time.Second}, {10 * time.Second, 5 * time.Second},
	} {
		if d >= step.from {
			return duration(d.Round(step.to))
		}
	}
	return duration(d)
}

// facts returns the properties of a task.
func (r *request) facts(t *taskkit.Task) []fact {
	var all []fact
	add := func(name, value, path string) {
		if value != "" {
			all = append(all, fact{name, clean(value), path})
		}
	}
	task := func(name string, id taskkit.ID) {
		if id != (taskkit.ID{}) {
			add(name, id.String(), taskPath(id))
		}
	}
	search := func(name, filter, value string) { add(name, value, listPath(searchFor(filter, value))) }
	add("Id", t.ID.String(), "")
	search("Kind", "kind", t.Kind)
	add("Why it was submitted", t.Reason, "")
	if r.operator() {
		search("Owner", "owner", person(t.Owner))
		if t.RunAs != t.Owner {
			add("Runs as", person(t.RunAs), "")
		}
		if t.CreatedBy != t.Owner {
			add("Submitted by", person(t.CreatedBy), "")
		}
		search("Queue", "queue", t.Queue)
		add("Priority", fmt.Sprint(int(t.Priority)), "")
		add("Worker", t.Worker, "")
		search("Reference", "reference", t.Reference)
		search("Unique key", "unique-key", t.UniqueKey)
		if t.Version != nil {
			add("Version", fmt.Sprint(*t.Version), "")
		}
		add("Revision", fmt.Sprintf("%d, submitted with %d", t.Revision, t.SpecRevision), "")
		add("Claims", fmt.Sprint(t.Fence), "")
		add("Checkpoints", count(t.Checkpoints), "")
		if t.Attempts > 0 {
			add("Attempts at the present batch", fmt.Sprint(t.Attempts), "")
		}
		add("Trace", t.Traceparent, "")
	}
	task("Part of", t.Parent)
	task("Follows", t.Follows)
	add("Tasks made from it", "search", listPath("follows:"+t.ID.String()))
	if t.ResultExpires != nil {
		add("Result kept until", when(*t.ResultExpires), "")
	}
	return all
}
