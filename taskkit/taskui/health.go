package taskui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskdoctor"
)

// reportWithin is more than the checks of the doctor take together.
const reportWithin = 40 * time.Second

// report returns what is wrong, as of a short time ago. The checks have more time than a page, and go on when the browser has gone: a database that
// is slow must not leave the page without findings.
func (r *request) report() (*taskdoctor.Report, error) {
	r.long(reportWithin)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), reportWithin)
	defer cancel()
	return r.d.doctor.readNew(ctx, func(ctx context.Context) (*taskdoctor.Report, error) {
		return taskdoctor.Run(ctx, r.d.db, r.d.config.Doctor)
	})
}

// healthView is the data of the page Health.
type healthView struct {
	*taskdoctor.Report

	Groups  []findingGroup
	Summary string
}

// findingGroup are the findings of a severity.
type findingGroup struct {
	Title    string
	Class    string // of a status
	Findings []findingView
}

type findingView struct {
	taskdoctor.Finding

	Things []thing // that are affected
}

// thing is something that a finding is about. Path is "" unless it is a task.
type thing struct{ Text, Path string }

// severities are the severities with their titles, the worst first.
var severities = []struct {
	severity            taskdoctor.Severity
	title, class, plain string
}{
	{taskdoctor.Error, "Errors", "failed", "error"},
	{taskdoctor.Warning, "Warnings", "paused", "warning"},
	{taskdoctor.Info, "Good to know", "queued", "remark"},
}

// health reads the page Health.
func health(r *request) (any, error) {
	report, err := r.report()
	if err != nil {
		return nil, err
	}
	v := &healthView{Report: report}
	var parts []string
	for _, s := range severities {
		g := findingGroup{Title: s.title, Class: s.class}
		for _, f := range report.Findings {
			if f.Severity != s.severity {
				continue
			}
			view := findingView{Finding: f}
			if !strings.HasPrefix(f.Docs, "https://") {
				view.Docs = ""
			}
			for _, text := range f.Affected {
				view.Things = append(view.Things, thingOf(text))
			}
			g.Findings = append(g.Findings, view)
		}
		if n := len(g.Findings); n > 0 {
			v.Groups = append(v.Groups, g)
			parts = append(parts, several(n, s.plain))
		}
	}
	if len(report.Unknown) > 0 {
		parts = append(parts, several(len(report.Unknown), "check")+" could not be made")
	}
	if v.Summary = strings.Join(parts, ", "); v.Summary == "" {
		v.Summary = "nothing is wrong"
	}
	return v, nil
}

// several returns a number with its noun.
func several(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// thingOf returns a thing that is affected, which leads to its page if it is a task.
func thingOf(text string) thing {
	t := thing{Text: clean(text)}
	if id, err := uuid.Parse(text); err == nil && len(text) == 36 {
		t.Path = taskPath(id)
	}
	return t
}
