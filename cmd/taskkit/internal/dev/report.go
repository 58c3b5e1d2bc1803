package dev

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
)

// checks prints the results of checks and remembers whether one failed.
type checks struct {
	run    *run
	failed bool
}

func (c *checks) that(ok bool, format string, args ...any) {
	word := "ok    "
	if !ok {
		c.failed, word = true, c.run.Out.Red("FAILED")
	}
	fmt.Fprintf(c.run.Out, "%s  %s\n", word, screen.Text(fmt.Sprintf(format, args...)))
}

// report counts what was done to whom and checks it. It returns ErrChecks when a
// check fails.
func (r *run) report(ctx context.Context) error {
	took := time.Since(r.began)
	found := make([]caseload.Findings, len(r.actions))
	tally := r.mail.Tally("")
	rows := make([][]string, len(r.actions))
	for i, a := range r.actions {
		attempts, err := r.attempts(ctx, a.id)
		if err != nil {
			return err
		}
		failed, err := r.failures(ctx, a)
		if err != nil {
			return err
		}
		if found[i], err = r.audit(ctx, a, failed); err != nil {
			return fmt.Errorf("audit %s: %w", a.name, err)
		}
		p := a.task.Progress
		rows[i] = []string{
			a.name, humanize.Comma(p.Processed()), humanize.Comma(p.Failed), fmt.Sprint(attempts + a.takeovers),
			fmt.Sprintf("%.1f", a.task.Elapsed.Seconds()), fmt.Sprint(found[i].Twice), fmt.Sprint(found[i].Missed),
		}
		if a.ledger == caseload.ActionMail {
			received, err := r.auditMail(ctx, a, failed)
			if err != nil {
				return err
			}
			found[i] = worse(found[i], received)
			rows[i][5], rows[i][6] = fmt.Sprint(found[i].Twice), fmt.Sprint(found[i].Missed)
		}
	}
	fmt.Fprintln(r.Out)
	r.Out.Table([]string{"action", "items", "failures", "retries", "seconds", "processed twice", "missed"}, rows, 2, 3, 4, 5, 6, 7)
	fmt.Fprintln(r.Out)
	c := &checks{run: r}
	r.check(c, found, tally)
	if err := r.checkExport(ctx, c); err != nil {
		return err
	}
	if err := r.checkBuckets(ctx, c); err != nil {
		return err
	}
	if err := r.checkReconcile(ctx, c); err != nil {
		return err
	}
	if err := r.checkChange(ctx, c); err != nil {
		return err
	}
	if err := r.checkAlerts(ctx, c); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "\n%d people, %d tasks, %d workers, %d killed: %.1f s in all\n", len(r.people.all), len(r.submitted()), r.Workers, len(r.kills), took.Seconds())
	if c.failed {
		return ErrChecks
	}
	return nil
}

// check runs all checks.
func (r *run) check(c *checks, found []caseload.Findings, tally mailserver.Tally) {
	var twice, missed, outside int
	var unfinished, uncounted, examples []string
	mailed := r.alerts.mailed()
	for i, a := range r.actions {
		f := found[i]
		twice, missed, outside = twice+f.Twice, missed+f.Missed, outside+f.Outside
		if !f.Clean() {
			examples = append(examples, a.name+": "+f.String())
		}
		if a.task.Status != taskkit.StatusCompleted || a.task.Partial {
			unfinished = append(unfinished, fmt.Sprintf("%s ended in %s: %s", a.name, a.task.Status, a.task.StatusDetail))
		}
		people := int64(len(r.peopleOf(a)))
		if a.task.Progress.Processed() != people {
			uncounted = append(uncounted, fmt.Sprintf("%s counts %d", a.name, a.task.Progress.Processed()))
		}
		if a.ledger == caseload.ActionMail {
			mailed += a.task.Progress.Done
		}
	}
	c.that(len(unfinished) == 0, "all actions completed%s", list(unfinished))
	c.that(len(uncounted) == 0, "every action processed all %s people, and the mail of the alerts those who got one%s", humanize.Comma(int64(len(r.people.all))), list(uncounted))
	c.that(twice == 0 && missed == 0 && outside == 0,
		"processed twice: %d, missed: %d, according to the ledger, the exported file and the mail server's log%s", twice, missed, list(examples))
	c.that(int64(tally.Different) == mailed, "mails received: %s of %s sent", humanize.Comma(int64(tally.Different)), humanize.Comma(mailed))
	c.that(tally.NoKey == 0, "mails repeated without their key: %d (with their key, so that a receiver can drop them: %d)", tally.NoKey, tally.Repeats)
	takenOver, buckets := 0, 0
	for _, k := range r.kills {
		takenOver, buckets = takenOver+len(k.tasks), buckets+k.buckets
	}
	c.that(len(r.kills) == r.allKills() && (buckets > 0 || r.Kills == 0),
		"workers killed: %d of %d; tasks they had claimed and others finished: %d, of which %d are buckets", len(r.kills), r.allKills(), takenOver, buckets)
}

// list formats the details of a check that failed.
func list(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return "; " + strings.Join(problems, "; ")
}

// failures returns the people whom an action reported as failed.
func (r *run) failures(ctx context.Context, a *action) (map[uuid.UUID]bool, error) {
	failed := map[uuid.UUID]bool{}
	for item, err := range r.client.Items(ctx, a.id, taskkit.OutcomeFailed) {
		if err != nil {
			return nil, err
		}
		var person uuid.UUID
		if err := json.Unmarshal(item.Key, &person); err != nil {
			return nil, fmt.Errorf("%s failed for %s, which is not the id of a person", a.name, item.Key)
		}
		failed[person] = true
	}
	return failed, nil
}

// peopleOf returns the people whom an action is for.
func (r *run) peopleOf(a *action) []uuid.UUID {
	if !a.alerted {
		return r.people.all
	}
	return slices.DeleteFunc(slices.Clone(r.people.all), r.alerts.lacks)
}

// audit compares the people whom an action processed with those whom it should
// have processed: all that did not fail. The outbox has a line for failed people
// too.
func (r *run) audit(ctx context.Context, a *action, failed map[uuid.UUID]bool) (caseload.Findings, error) {
	want := r.peopleOf(a)
	if len(failed) > 0 && a.ledger != caseload.ActionMail {
		want = slices.DeleteFunc(slices.Clone(want), func(p uuid.UUID) bool { return failed[p] })
	}
	if a.ledger != "" {
		return caseload.Audit(ctx, r.people.domain, a.ledger, []uuid.UUID{a.id}, want)
	}
	result, err := exportcaseloadtask.Fetch(ctx, r.client, a.id)
	if errors.Is(err, taskkit.ErrNoResult) {
		return caseload.Findings{Missed: len(want)}, nil
	}
	if err != nil {
		return caseload.Findings{}, err
	}
	f, err := os.Open(result.Where)
	if err != nil {
		return caseload.Findings{}, fmt.Errorf("open the exported file: %w", err)
	}
	defer f.Close()
	return caseload.AuditFile(f, caseload.ReadCSV, want)
}

// auditMail compares the mail server's log with the addresses of the people who
// should have received one. Several people may share an address.
func (r *run) auditMail(ctx context.Context, a *action, failed map[uuid.UUID]bool) (caseload.Findings, error) {
	want, err := r.people.addresses(ctx, r.peopleOf(a), failed)
	if err != nil {
		return caseload.Findings{}, err
	}
	got := r.mail.Recipients(a.id.String())
	f := caseload.Findings{Touched: len(got)}
	for address, n := range got {
		switch w := want[address]; {
		case w == 0:
			f.Outside++
		case n > w:
			f.Twice++
		}
	}
	for address, n := range want {
		if got[address] < n {
			f.Missed++
			f.Example = address
		}
	}
	return f, nil
}

// worse merges two findings about the same action.
func worse(a, b caseload.Findings) caseload.Findings {
	a.Twice, a.Missed, a.Outside = max(a.Twice, b.Twice), max(a.Missed, b.Missed), max(a.Outside, b.Outside)
	if a.Example == "" {
		a.Example = b.Example
	}
	return a
}

// printCommands suggests commands to try while the workers run.
func (r *run) printCommands() {
	flags := " -d " + r.workspace.Address.Shell()
	if r.workspace.domain != "" {
		flags += " --schema " + r.workspace.schema
	}
	p := program()
	fmt.Fprintf(r.Out, "\nThe workers keep running. Try in another terminal:\n\n")
	for _, c := range []string{
		"ls", "workers", "show " + r.sheet.task.id.String(), "explain @last", "watch @last",
		"show " + r.change.preview.id.String(), "items " + r.change.real.id.String() + " --failed", "schedules show " + nightly,
	} {
		fmt.Fprintf(r.Out, "  %s %s%s\n", p, c, flags)
	}
	fmt.Fprintf(r.Out, "  %s run program_status --url %s --help\n", p, r.web.url)
	fmt.Fprintf(r.Out, "\nor start a job over HTTP, as the coach; `-H '%s: %s'` is the supervisor, who may approve:\n\n  %s\n", personHeader, supervisor, r.web.curl())
	fmt.Fprintf(r.Out, "\nor start a task at %s%skinds and kill its worker at %s%sworkers: another one takes over.\n", r.web.url, pathDashboard, r.web.url, pathDashboard)
	if r.workspace.Secret() {
		fmt.Fprintf(r.Out, "\nReplace xxxxx by the password.\n")
	}
	fmt.Fprintf(r.Out, "\nPress Ctrl-C to end.\n")
}

// program returns the command line of this program.
func program() string {
	if exe, err := os.Executable(); err == nil && strings.Contains(exe, "go-build") {
		return "go run ./cmd/taskkit"
	}
	return os.Args[0]
}
