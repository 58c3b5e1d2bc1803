package taskdoctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/taskkit/taskops"
)

const (
	// stormWithin is in what time attempts must have failed to be a storm of retries.
	stormWithin = time.Hour
	// silentTries is how many tries to deliver to a target must have failed since its last delivery, in what time.
	silentTries, silentWithin = 3, 24 * time.Hour
	// rowsMost is how many limits and schedules are read, and how many groups of dead letters and tasks become findings.
	rowsMost, groupsMost = 1000, 20
	// deadMost is how many dead letters are read.
	deadMost = 5000
	// lateMostSchedule is how late a fire may be: workers read every 15 seconds which are due.
	lateMostSchedule = 5 * time.Minute
)

// readAttempts looks for a code with which attempts of many tasks have failed.
func readAttempts(ctx context.Context, e *scope) (all []Finding, err error) {
	codes, err := e.tables.FailingCodes(ctx, stormWithin, e.Options.Storm)
	if err != nil {
		return nil, err
	}
	for _, c := range codes {
		f := found("retry_storm", fmt.Sprintf("In the last hour %s of %s have failed with the code %s, the last at %s.",
			count(c.Attempts, "attempt"), count(c.Tasks, "task"), c.Code, c.Last.UTC().Format(time.RFC3339))).
			since(c.First).of(c.Example.String()).by("taskkit explain " + c.Example.String())
		f.More = c.Tasks - 1
		all = append(all, f)
	}
	return all, nil
}

// readApprovals looks for tasks that have waited for their approval for too long.
func readApprovals(ctx context.Context, e *scope) (all []Finding, err error) {
	tasks, err := e.tables.AwaitingApproval(ctx, e.report.At, e.Options.Approval, groupsMost)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		all = append(all, found("approval_waits", fmt.Sprintf("A task of the kind %s has waited for its approval for %s.", t.Kind, round(e.report.At.Sub(t.Since)))).
			since(t.Since).of(t.ID.String()).by("taskkit approve "+t.ID.String()+" --by PERSON"))
	}
	return all, nil
}

// readDead examines the dead letters. Of more than groupsMost groups it reports the largest.
func readDead(ctx context.Context, e *scope) (all []Finding, err error) {
	dead, err := e.Operator.Dead(ctx, taskops.DeadFilter{Most: deadMost})
	if err != nil {
		return nil, err
	}
	groups := slices.Clone(dead.Groups)
	slices.SortStableFunc(groups, func(a, b taskops.DeadGroup) int { return int(min(max(b.Tasks-a.Tasks, -1), 1)) })
	for _, g := range groups[:min(len(groups), groupsMost)] {
		atLeast := ""
		if slices.Contains(dead.Truncated, g.Kind) {
			atLeast = "at least "
		}
		f := found("dead_letters", fmt.Sprintf("Of the kind %s, %s%s with the code %s, the last at %s.",
			g.Kind, atLeast, ended(g.Tasks), g.Code, g.Newest.UTC().Format(time.RFC3339))).since(g.Oldest).of(g.Example.String())
		f.More = g.Tasks - 1
		all = append(all, f.by("taskkit dead retry --kind "+quote(g.Kind)+" --code "+quote(g.Code)+" --yes"))
	}
	return all, nil
}

// readTargets looks for targets that take no notifications.
func readTargets(ctx context.Context, e *scope) (all []Finding, err error) {
	targets, err := e.tables.FailingTargets(ctx, silentWithin, silentTries)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		f := found("target_fails", fmt.Sprintf("Target %s takes no notifications: since %s and its last delivery %s at %s have failed, the last at %s with the code %s.", t.Target, t.First.UTC().Format(time.RFC3339),
			count(t.Tries, "attempt"), count(t.Notices, "notification"), t.Last.UTC().Format(time.RFC3339), t.Code)).since(t.First).of(t.Target)
		command := "taskkit explain " + t.Example.String()
		if len(t.Dead) > 0 {
			command = "taskkit retry"
			for _, id := range t.Dead {
				command += " " + id.String()
			}
		}
		all = append(all, f.by(command))
	}
	return all, nil
}

// ended says how many tasks have ended as dead letters.
func ended(n int64) string {
	if n == 1 {
		return "1 task has failed"
	}
	return fmt.Sprintf("%d tasks have failed", n)
}

// readLimits looks for permits that tasks of dead workers have, while others wait for them.
func readLimits(ctx context.Context, e *scope) (all []Finding, err error) {
	limits, err := e.Operator.Limits(ctx, "", rowsMost)
	if err != nil || len(limits) == 0 {
		return nil, err
	}
	workers, err := e.Operator.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range limits {
		for _, t := range l.Tasks {
			i := slices.IndexFunc(workers, func(w taskops.WorkerInfo) bool { return w.ID == t.Worker })
			if l.Waiting == 0 || i >= 0 && (workers[i].Ended == nil && workers[i].Silence < workers[i].DeadAfter+reapGrace ||
				workers[i].Ended != nil && now(workers[i]).Sub(*workers[i].Ended) < reapGrace) {
				continue
			}
			f := found("limit_holder_lost", fmt.Sprintf("A permit of the limit %q is held by task %s, whose worker %s is gone; tasks that wait for it: %d.",
				l.Key, t.Task, t.Worker, l.Waiting)).of(t.Task.String()).by("taskkit explain " + t.Task.String())
			if i >= 0 {
				f = f.since(workers[i].Heartbeat)
			}
			all = append(all, f)
		}
	}
	return all[:min(len(all), groupsMost)], nil
}

// readSchedules examines the schedules, the first rowsMost by name.
func readSchedules(ctx context.Context, e *scope) (all []Finding, err error) {
	schedules, err := e.Operator.SchedulesAfter(ctx, "", rowsMost)
	if err != nil {
		return nil, err
	}
	for _, s := range schedules {
		if s.Alternations > 1 {
			all = append(all, found("schedule_alternates", fmt.Sprintf("Schedule %s has gone back and forth between two definitions %d times: two programs set it.",
				s.Name, s.Alternations)).since(s.Modified).of(s.Name).by("taskkit changes"))
		}
		if s.Paused {
			continue
		}
		show := "taskkit schedules show " + quote(s.Name)
		switch {
		case s.LastError != "":
			f := found("schedule_refused", fmt.Sprintf("Schedule %s could not submit its last task: %s.", s.Name, strings.TrimSuffix(oneLine(s.LastError), "."))).of(s.Name).by(show)
			if s.LastErrorAt != nil {
				f = f.since(*s.LastErrorAt)
			}
			all = append(all, f)
		case s.Next == nil && !s.Triggered && s.Buffered == "" && !s.Overdue:
			all = append(all, found("schedule_never", fmt.Sprintf("Schedule %s never fires again: no date fits %q.", s.Name, s.Cron)).
				since(s.Modified).of(s.Name).by("taskkit schedules delete "+quote(s.Name)))
		case s.Late > lateMostSchedule:
			all = append(all, found("schedule_late", fmt.Sprintf("Schedule %s has been due for %s, and no worker has submitted its task.", s.Name, round(s.Late))).
				since(e.report.At.Add(-s.Late)).of(s.Name).by(show))
		}
	}
	return all, nil
}
