package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// span is a stretch of the database's time.
type span struct{ from, to int64 }

// process is a worker process as the oracle saw it.
type process struct {
	beats   []int64
	silence int64 // it counts as dead after so long without a beat
	ended   int64 // when that was written; 0: never
}

// readProcesses reads the signs of life. It checks that a process that was
// declared dead never comes back (I5).
func (c *checker) readProcesses(ctx context.Context) error {
	err := c.each(ctx, "SELECT at, op, process, dead_after, ended FROM {s}oracle_process ORDER BY id", nil, func(rows *sql.Rows) error {
		var (
			at, silence, ended int64
			op, name           string
		)
		if err := rows.Scan(&at, &op, &name, &silence, &ended); err != nil || op == "DELETE" {
			return err
		}
		p := c.processes[name]
		if p == nil {
			p = &process{}
			c.processes[name] = p
		}
		p.silence = silence
		c.silence = max(c.silence, silence)
		switch {
		case ended == 0 && p.ended != 0:
			c.found("I5", "", "process %s was declared dead and says that it lives", name)
		case ended == 0:
			p.beats = append(p.beats, at)
		case p.ended == 0:
			p.ended = at
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.report.Counts.Processes = int64(len(c.processes))
	err = c.each(ctx, "SELECT count(*) FROM {s}taskkit_task_process WHERE ended_reason LIKE 'silent%'", nil, func(rows *sql.Rows) error {
		return rows.Scan(&c.report.Counts.Dead)
	})
	c.alive = attended(c.processes)
	return err
}

// attended returns when at least one process was certainly alive. Two beats
// show that it was between them when there is no room for a third: a heartbeat
// is at most a third of the silence that counts as death.
func attended(processes map[string]*process) []span {
	var all []span
	for _, p := range processes {
		slices.Sort(p.beats) // clocks of concurrent statements
		for i := 1; i < len(p.beats); i++ {
			if p.beats[i]-p.beats[i-1] <= p.silence/2 {
				all = append(all, span{p.beats[i-1], p.beats[i]})
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// longest returns the longest stretch between two times during which some
// process was alive without a pause: only then was there somebody to act.
func (c *checker) longest(from, to int64) int64 {
	i, _ := slices.BinarySearchFunc(c.alive, from, func(s span, at int64) int { return cmp.Compare(s.to, at) })
	var most int64
	for ; i < len(c.alive) && c.alive[i].from < to; i++ {
		most = max(most, min(to, c.alive[i].to)-max(from, c.alive[i].from))
	}
	return most
}

// reap is the longest between two runs of the reaper: a tenth of the silence,
// between 50 ms and 5 s, an eighth of it more by jitter.
func reap(silence int64) int64 {
	every := min(max(silence/10, (50*time.Millisecond).Microseconds()), (5 * time.Second).Microseconds())
	return every + every/8
}

// batchMax is the longest batch: what Options say, or the most that a worker's
// configuration allows; half as long again until a batch that ignores its
// context is abandoned.
func (c *checker) batchMax(silence int64) int64 {
	batch := c.opts.BatchTimeout.Microseconds()
	if batch == 0 {
		batch = silence * 3 / 4
	}
	return batch + min(batch/2, (5*time.Second).Microseconds())
}

// checkLimbo checks I7: no task stays with a process that is dead while another
// lives; and I9: a process that lives goes on with what it executes, whatever
// it assumes about an uncertain commit.
func (c *checker) checkLimbo(t *Task) {
	for i, h := range t.Changes {
		if h.Op == "DELETE" || !h.New.inFlight() {
			continue
		}
		until := c.now
		if i+1 < len(t.Changes) {
			until = t.Changes[i+1].At
		}
		p := c.processes[h.New.Process]
		if p == nil {
			c.found("I7", t.ID, "held by %s, which never registered (change %d)", h.New.Process, h.ID)
			continue
		}
		c.checkForgotten(t, h, p, until)
		dead, silent := p.deadAt(until)
		if until <= dead {
			continue
		}
		// A batch that is stopped in its transaction keeps its row until the
		// server ends the transaction, a second after the batch's time.
		bound := reap(c.silence) + c.batchMax(p.silence) + time.Second.Microseconds() + c.opts.Slack.Microseconds()
		waited := c.longest(max(dead, h.At), until)
		if silent {
			c.report.Counts.SlowestTakeover = max(c.report.Counts.SlowestTakeover, micros(waited))
		}
		if waited > bound {
			c.found("I7", t.ID, "%s for %v after its process %s was dead, while others lived (change %d); at most %v is allowed",
				h.New.Status, micros(waited), h.New.Process, h.ID, micros(bound))
		}
	}
}

// deadAt returns from when on a process counts as dead, measured by what it had
// said until a time, and whether by its silence: one that leaves says so.
func (p *process) deadAt(until int64) (at int64, silent bool) {
	i, _ := slices.BinarySearch(p.beats, until+1)
	if i > 0 {
		at = p.beats[i-1] + p.silence
	}
	if p.ended != 0 && p.ended < min(at, until) {
		return p.ended, false
	}
	return at, true
}

// checkForgotten checks I9.
func (c *checker) checkForgotten(t *Task, h *Change, p *process, until int64) {
	if c.opts.BatchTimeout == 0 || h.New.Status != executing {
		return
	}
	// Three tries at the end, each a batch long, and two answers to wait for.
	bound := 5*c.batchMax(p.silence) + 2*c.opts.Call.Microseconds() + c.opts.Slack.Microseconds()
	alive, _ := p.deadAt(until)
	if idle := c.longest(h.At, min(until, alive)); idle > bound {
		c.found("I9", t.ID, "its process %s lived and did nothing with it for %v (change %d): at most %v is allowed",
			h.New.Process, micros(idle), h.ID, micros(bound))
	}
}

// checkRequests checks I8: a stop, a delete and a pause take effect in time,
// whoever holds the task.
func (c *checker) checkRequests(t *Task) {
	var asked, paused int64 // since when
	var what string
	timed := func(since int64, what string, at int64) {
		took := c.longest(since, at)
		c.report.Counts.Stops++
		c.report.Counts.SlowestStop = max(c.report.Counts.SlowestStop, micros(took))
		if bound := c.stopBound(); bound > 0 && took > bound {
			c.found("I8", t.ID, "%s took %v while workers lived, at most %v is allowed", what, micros(took), micros(bound))
		}
	}
	for _, h := range t.Changes {
		over := h.Op == "DELETE" || h.New.terminal()
		ending := !over && (h.New.Control == stop || h.New.Control == deleteAsked)
		switch {
		case ending && asked == 0:
			asked, what = h.At, h.New.Control
		case over && asked != 0:
			timed(asked, what, h.At)
			asked = 0
		case !ending:
			asked = 0
		}
		if ending && h.New.Status == queued && h.New.Fence == 0 {
			c.found("I8", t.ID, "%s was asked before anybody had claimed it, and it waits (change %d)", h.New.Control, h.ID)
		}
		held := !over && h.New.Control == pause && h.New.inFlight()
		switch {
		case held && paused == 0:
			paused = h.At
		case !held && paused != 0:
			timed(paused, pause, h.At)
			paused = 0
		}
	}
	if asked != 0 {
		timed(asked, what, c.now)
	}
	if paused != 0 {
		timed(paused, pause, c.now)
	}
}

// checkObedience checks I8: a worker that was told of a stop or a delete, by its
// claim or by the response to a checkpoint, commits no further checkpoint; nobody
// stops a task unasked; and a delete that was accepted stays until it removes the
// row (PTV-33).
func (c *checker) checkObedience(t *Task) {
	told := int64(-1) // the fence whose holder knows
	for _, h := range t.Changes {
		if h.Op != "UPDATE" {
			continue
		}
		ends := func(r *Row) bool { return r.Control == stop || r.Control == deleteAsked }
		checkpoint := h.New.Seq != h.Old.Seq
		if checkpoint && told == h.Old.Fence && !h.New.terminal() && ends(&h.Old) {
			c.found("I8", t.ID, "fence %d made checkpoint %d after it had been told of a %s (change %d)", h.New.Fence, h.New.Seq, h.Old.Control, h.ID)
		}
		if (checkpoint || h.claim()) && ends(&h.New) {
			told = h.New.Fence
		}
		if h.Old.Control == deleteAsked && h.New.Control != deleteAsked {
			c.found("I8", t.ID, "an accepted delete is void: it became %s (change %d)", h.New.Status, h.ID)
		}
		stopped := h.New.Control == stop && h.Old.Control != stop || h.New.Partial != 0 && h.Old.Partial == 0
		if stopped && t.Events["stop"] == 0 && !h.superseded() && (!t.FailedChild || h.New.Control == stop) {
			c.found("I8", t.ID, "a stop that nobody requested (change %d)", h.ID)
		}
	}
}

// stopBound is how long a request may stand while workers live: the current
// batch, its worker's death and takeover, the end itself, an uncertain commit.
func (c *checker) stopBound() int64 {
	switch {
	case c.opts.StopWithin != 0:
		return c.opts.StopWithin.Microseconds()
	case c.opts.BatchTimeout == 0:
		return 0
	}
	return c.silence + reap(c.silence) + 2*c.batchMax(c.silence) + time.Second.Microseconds() +
		c.opts.Call.Microseconds() + c.opts.Slack.Microseconds()
}

func micros(n int64) time.Duration {
	return (time.Duration(n) * time.Microsecond).Round(time.Millisecond)
}
