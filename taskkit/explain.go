package taskkit

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/taskcause"
)

// explain explains a task from what was read of it. It is pure.
func (f *facts) explain(t *Task) *Explanation {
	cause, why := f.cause(t)
	e := &Explanation{Task: t.ID, Status: t.Status, Cause: cause}
	switch {
	case t.Ended():
		e.Note, e.Text = f.ended(t, cause)
	case t.Status != StatusQueued:
		e.Note, e.Text = f.claimed(t, cause)
	case t.Control == ControlPause:
		e.Note, e.Text = f.paused(t, cause)
	default:
		e.Note, e.Text = f.waiting(t, cause, why)
	}
	e.Text += f.falselyDead(t)
	return e
}

// ended returns the note and the text of a task that has ended.
func (f *facts) ended(t *Task, c taskcause.Cause) (note, text string) {
	detail := firstLine(t.StatusDetail)
	switch c {
	case taskcause.Stopped:
		if by, ok := strings.CutPrefix(detail, lifecycle.CodeSuperseded+": "); ok {
			return detail, fmt.Sprintf("It was superseded after %s: %s. What it did until then stays.", items(t), by)
		}
		if by, ok := strings.CutPrefix(detail, lifecycle.CodeLeftOut+": "); ok {
			return detail, fmt.Sprintf("It is done after %s, without %s, which somebody left out: see the events of these tasks.", items(t), by)
		}
		// What was requested of a task that has ended is in its events only.
		stopped := f.background(t).Stopped
		asked := byWhom(stopped.Actor, stopped.Reason)
		return "stopped" + asked, fmt.Sprintf("It was stopped%s after %s; what it did until then stays.", asked, items(t))
	case taskcause.Failed:
		return detail, fmt.Sprintf("It failed after %s: %s. Retry continues from checkpoint %d.", items(t), detail, t.Checkpoints)
	case taskcause.CrashLoop:
		text = fmt.Sprintf("The runtime could not run it: %s. Retry continues from checkpoint %d", detail, t.Checkpoints)
		if t.item == 0 {
			return detail, text + "."
		}
		return fmt.Sprintf("lost its worker at item %d: %s", t.item, detail),
			fmt.Sprintf("%s, at item %d; taskkit retry --skip records that item as failed and continues after it (WithSkip).", text, t.item)
	case taskcause.NotRun:
		return detail, fmt.Sprintf("The runtime could not run it: %s. Retry continues from checkpoint %d.", detail, t.Checkpoints)
	default: // Done
	}
	return "", fmt.Sprintf("It is done after %s: %s.", round(t.Elapsed), items(t))
}

// claimed returns the note and the text of a task that a worker has.
func (f *facts) claimed(t *Task, c taskcause.Cause) (note, text string) {
	request := ""
	if t.Control != "" {
		request = fmt.Sprintf("; %s%s was requested and takes effect at the next batch boundary", t.Control, by(t))
	}
	r := f.tries(t)
	rest := request + r.text(t)
	switch w := f.worker(t.Worker); c {
	case taskcause.WorkerEnded:
		return "its worker has ended: " + w.EndReason, fmt.Sprintf("Its worker %s has ended (%s); any other worker will take it over%s.", t.Worker, w.EndReason, rest)
	case taskcause.WorkerSilent:
		silent := "an unknown time"
		if w != nil {
			silent = round(w.Silence)
		}
		return "its worker has been silent for " + silent, fmt.Sprintf("Its worker %s has been silent for %s; any other worker will take it over%s.", t.Worker, silent, rest)
	case taskcause.Requested:
		note = requested(t)
	default:
		note = r.note(t)
	}
	doing := "is being prepared by"
	if t.Status == StatusExecuting {
		doing = "is running on"
	}
	return note, fmt.Sprintf("It %s worker %s, at checkpoint %d with %s%s.", doing, t.Worker, t.Checkpoints, items(t), rest)
}

// paused returns the note and the text of a task that is paused.
func (f *facts) paused(t *Task, c taskcause.Cause) (note, text string) {
	conditions := f.background(t).Options.Conditions
	switch {
	case c == taskcause.Paused:
		note = "paused" + by(t)
	case pauseCause(t.ControlReason) == taskcause.Paused: // by a person, before its conditions would have paused it
		note = conditions.PauseReason(t.counted())
	default:
		note = t.ControlReason
	}
	note = strings.TrimPrefix(note, "it ")
	return note, fmt.Sprintf("It is paused%s at checkpoint %d; %s.", by(t), t.Checkpoints, continues(t, conditions))
}

// waiting returns the note and the text of a task that waits and is not paused. Why says why no worker can claim it.
func (f *facts) waiting(t *Task, c taskcause.Cause, why string) (note, text string) {
	r := f.tries(t)
	last := r.text(t)
	soon := inTime(t)
	reason := firstLine(cmp.Or(t.WaitingReason, t.Reason, "it was submitted for later"))
	switch c {
	case taskcause.Children:
		if t.WaitingReason == lifecycle.ReasonEndingChildren {
			return "waits for its children to end" + children(t), fmt.Sprintf("It ends once its children have ended%s%s.", children(t), last)
		}
		return "waits for its children" + children(t), fmt.Sprintf("It waits for its children%s%s.", children(t), last)
	case taskcause.QueuePaused:
		pause := f.pauseOf(t)
		by := byWhom(pause.PausedBy, pause.PausedReason)
		return "queue " + t.Queue + " is paused" + by, fmt.Sprintf("It waits because its queue %s has been paused%s for %s; it can be claimed once the queue is resumed%s%s.",
			t.Queue, by, round(pause.SincePaused), after(t), last)
	case taskcause.Limit:
		return f.limited(t, last)
	case taskcause.Throttled:
		return reason, fmt.Sprintf("It is %s. It waits at checkpoint %d with %s, and its indicators are read again %s%s.", reason, t.Checkpoints, items(t), soon, last)
	case taskcause.Retry:
		if r.last == nil {
			return reason + ", " + soon, fmt.Sprintf("It waits for its retry, %s (%s)%s.", soon, reason, last)
		}
		return "retry " + soon + ": " + r.note(t), fmt.Sprintf("It waits for its retry, %s%s.", soon, last)
	case taskcause.Start:
		return "starts " + soon, fmt.Sprintf("It waits for its time, %s (%s)%s.", soon, reason, last)
	case taskcause.Later, taskcause.Window, taskcause.Rate:
		return reason + ", " + soon, fmt.Sprintf("It waits for its time, %s (%s)%s.", soon, reason, last)
	case taskcause.Due:
		return cmp.Or(r.note(t), firstLine(cmp.Or(t.WaitingReason, t.Reason))),
			fmt.Sprintf("It is due and waits for a free slot; live workers that can take it: %d%s.", f.able(t), last)
	case taskcause.SlotsBusy:
		return why, fmt.Sprintf("It is due and waits for a free slot: %s%s.", why, last)
	default: // no worker can claim it
	}
	if t.Control != "" {
		note = requested(t)
		if why == "" {
			return note, fmt.Sprintf("It is to be ended (%s%s), and a worker is about to do it.", t.Control, by(t))
		}
		return note + "; " + why, fmt.Sprintf("It is to be ended (%s) and waits for a worker: %s.", t.Control, why)
	}
	return why, fmt.Sprintf("It is due but no worker can take it: %s%s.", why, last)
}

// limited returns the note and the text of a task that waits for a permit.
func (f *facts) limited(t *Task, last string) (note, text string) {
	held := f.background(t).Limit
	if held == nil || len(held.First) == 0 {
		// The permit may have been given back a moment ago.
		return t.WaitingReason, fmt.Sprintf("It %s%s.", t.WaitingReason, last)
	}
	short, long := make([]string, len(held.First)), make([]string, len(held.First))
	for i, h := range held.First {
		short[i] = h.Task.String()
		long[i] = short[i]
		switch w := f.worker(h.Process); {
		case w == nil:
		case w.Alive():
			long[i] += " on worker " + w.ID
		default:
			long[i] += fmt.Sprintf(" on worker %s, which has been silent for %s", w.ID, round(w.Silence))
		}
	}
	more := ""
	if n := held.Executing - int64(len(held.First)); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("limit %q: its permits are held by %s%s", held.Key, strings.Join(short, ", "), more),
		fmt.Sprintf("It %s; held by task %s%s%s.", t.WaitingReason, strings.Join(long, ", task "), more, last)
}

// note says in a few words what the tries of a batch came to; "" if there were none.
func (r tries) note(t *Task) string {
	switch {
	case r.last != nil && r.lost < lostWorkers:
		return fmt.Sprintf("attempt %s failed: %s: %s", outOf(r.last.Attempt, r.most), r.last.Code, firstLine(r.last.Detail))
	case r.lost > 0:
		return fmt.Sprintf("lost its worker %s times%s", outOf(r.lost, r.most), at(t))
	}
	return ""
}

// text says the same as a part of a sentence.
func (r tries) text(t *Task) (s string) {
	if r.lost > 0 {
		s = fmt.Sprintf("; it has lost its worker %s times at checkpoint %d%s", outOf(r.lost, r.most), t.Checkpoints, at(t))
	}
	if a := r.last; a != nil {
		s += fmt.Sprintf("; attempt %s failed at checkpoint %d with %s: %s", outOf(a.Attempt, r.most), a.Seq, a.Code, firstLine(a.Detail))
	}
	return s
}

// outOf returns "2 of 10", or "2" if most is unknown.
func outOf(n, most int) string {
	if most == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d of %d", n, most)
}

// at names the item that a task is at, if it is known.
func at(t *Task) string {
	if t.item == 0 {
		return ""
	}
	return fmt.Sprintf(", at item %d", t.item)
}

// detailMax is how much of a text that an application wrote is in a sentence.
const detailMax = 300

// firstLine returns the first line of a text, cut. The rest of an error's text is in the attempts of the task.
func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(line); len(runes) > detailMax {
		return string(runes[:detailMax]) + "…"
	}
	if more {
		return strings.TrimSpace(line) + " …"
	}
	return line
}

// requested names the request that stands on a task.
func requested(t *Task) string { return strings.ToLower(string(t.Control)) + " requested" + by(t) }

// children says what has become of the children of a task.
func children(t *Task) string {
	c := t.Children
	if c == nil {
		return ""
	}
	s := fmt.Sprintf(": %d are open, and %d have ended", c.Open, c.Completed+c.Stopped+c.Failed)
	if c.Failed > 0 {
		s += fmt.Sprintf(", %d of them failed", c.Failed)
	}
	return s
}

// falselyDead says how many workers ran although they had been declared dead, while that
// may concern the task.
func (f *facts) falselyDead(t *Task) string {
	n := 0
	for _, w := range f.workers {
		if w.FoundAlive != nil {
			n++
		}
	}
	if n == 0 || t.Status.Ended() {
		return ""
	}
	return fmt.Sprintf(" Workers that were declared dead in the last hour although they ran: %d.", n)
}

// continues says what continues a paused task, and what else than the pause keeps it from going on.
func continues(t *Task, c lifecycle.Conditions) string {
	p := t.counted()
	request := "resume"
	if c.AwaitsApproval(p) {
		request = "approve"
	}
	if c.StopAfter.Reached(p) {
		request += " with a higher limit"
	}
	if why := c.PauseReason(p); why != "" && why != t.ControlReason {
		return why + ": " + request + " continues it"
	}
	return request + " continues it"
}

func by(t *Task) string { return byWhom(t.ControlBy, t.ControlReason) }

// byWhom says who asked for something and why, as far as that is known.
func byWhom(person uuid.UUID, reason string) string {
	s := ""
	switch person {
	case uuid.Nil:
	case SystemOwner:
		s = " by system"
	default:
		s = " by " + person.String()
	}
	if reason != "" {
		s += fmt.Sprintf(" (%s)", reason)
	}
	return s
}

// after says how long a task still waits for its time, or for what else it waits.
func after(t *Task) string {
	switch {
	case t.Wait <= 0:
		return ""
	case t.Cause() == taskcause.Limit:
		return ", and it " + t.WaitingReason
	}
	return ", and not before its time, " + inTime(t)
}

// farTime is from when on a time is given as a date: a duration of many hours tells a person little, and the time to the
// year 9999 is no duration.
const farTime = 72 * time.Hour

// inTime says when a task is due.
func inTime(t *Task) string {
	switch {
	case t.Wait <= 0:
		return "now"
	case t.Wait >= farTime:
		return "on " + t.NotBefore.UTC().Format("2006-01-02 15:04 UTC")
	}
	return round(t.Wait) + " from now"
}

func items(t *Task) string {
	p := t.Progress
	if t.Found != nil {
		return fmt.Sprintf("%d items (finding its targets: %d so far)", p.Processed(), *t.Found)
	}
	s := fmt.Sprintf("%d items", p.Processed())
	if p.Total >= 0 {
		s = fmt.Sprintf("%d of %d items", p.Processed(), p.Total)
	}
	if p.Failed > 0 {
		s += fmt.Sprintf(", %d of them failed", p.Failed)
	}
	return s
}

// round shortens a duration for people.
func round(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Millisecond).String()
	}
}
