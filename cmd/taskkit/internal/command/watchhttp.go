package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// watchPeriod is how often an application is to send the progress of a task.
const watchPeriod = time.Second

// watchElsewhere follows a task of an application until it ends, as watch does a task of the database. job is the task as it was read last, nil
// if it has not been read.
func (a *App) watchElsewhere(ctx context.Context, app *application, id taskkit.ID, job *taskhttp.Job, timeout time.Duration) error {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	l := &line{Screen: a.out, off: a.output != tableFormat}
	failed := outage{screen: a.err, of: "the application"}
	app.observe(func(err error) {
		if limited.Err() != nil {
			return
		}
		if failed.changes(err) {
			l.end()
		}
		failed.report(err)
	})
	var (
		err  error
		rate jobSpeed
	)
	for read, failure := range app.Watch(limited, id, watchPeriod) {
		if err = failure; err != nil {
			break
		}
		job = read
		l.show(jobLine(job) + rate.of(limited, app, job))
	}
	l.end()
	last := ""
	if job != nil {
		last = ". Last status: " + jobLine(job)
	}
	switch {
	case err == nil:
		return a.endedElsewhere(job)
	case ctx.Err() != nil:
		return &statusError{exitInterrupted, fmt.Sprintf("stopped watching; the task continues. To watch again: taskkit watch %s%s", id, app.flags())}
	case limited.Err() != nil:
		return &statusError{exitTimeout, fmt.Sprintf("task %s has not ended within %v; it continues%s%s", id, timeout, last, failed.suffix())}
	case errors.Is(err, taskhttp.ErrNoSuchJob) && job == nil:
		return noTask(id)
	case errors.Is(err, taskhttp.ErrNoSuchJob):
		return wasDeleted(id)
	case errors.Is(err, taskhttp.ErrUnauthenticated):
		return fmt.Errorf("%w: say with --header or %s who you are", err, authorizationEnv)
	}
	return err
}

// endedElsewhere prints a task of an application that has ended, and returns an error unless it completed.
func (a *App) endedElsewhere(job *taskhttp.Job) error {
	if job.Status == taskhttp.Deleted {
		return wasDeleted(job.ID)
	}
	if a.output != tableFormat {
		if err := a.print(job, func(io.Writer) {}); err != nil {
			return err
		}
	}
	switch {
	case job.Error != nil:
		return &statusError{exitFailed, fmt.Sprintf("task %s failed: %s", job.ID, screen.Short(job.Error.Code+": "+job.Error.Title, 200))}
	case job.Partial:
		return wasStopped(job.ID)
	}
	return nil
}

// jobLine formats the line that watch shows of a task of an application.
func jobLine(j *taskhttp.Job) string {
	id := j.ID.String()
	text := fmt.Sprintf("%s %s  %s", screen.Clean(j.Kind), id[len(id)-8:], j.Status)
	if p := j.Progress; p != nil {
		text += "  " + screen.Count(p.Processed)
		if p.Total != nil {
			text += "/" + screen.Count(*p.Total)
		}
		if p.Percent != nil {
			text += fmt.Sprintf(" (%d%%)", int(min(max(*p.Percent, 0), 100)))
		}
		if p.Failed > 0 {
			text += ", failed " + screen.Count(p.Failed)
		}
	}
	switch {
	case j.Error != nil:
		text += "  " + screen.Short(j.Error.Code, 60)
	case j.Reason != "":
		text += "  " + strings.ReplaceAll(screen.Clean(j.Reason), "_", " ")
	}
	return text
}

// jobSpeed reads the speed of a task of an application from time to time: only an answer that did not wait has it.
type jobSpeed struct {
	read time.Time
	text string
}

// of returns the speed of a task, after two spaces. If it cannot be read it is what it was.
func (s *jobSpeed) of(ctx context.Context, app *application, j *taskhttp.Job) string {
	if j.Done {
		return ""
	}
	if time.Since(s.read) < progressEvery {
		return s.text
	}
	s.read = time.Now()
	now, err := app.Job(ctx, j.ID)
	if err != nil || now.Progress == nil {
		return s.text
	}
	p := taskkit.TaskProgress{}
	if of := now.Progress.RatePerSecond; of != nil {
		p.Rate = *of
	}
	if of := now.Progress.ETASeconds; of != nil {
		p.TimeLeft = &taskkit.TimeRange{Low: seconds(of[0]), High: seconds(of[1])}
	}
	if now.Status == taskhttp.Queuing {
		p.Waiting = now.Reason
	}
	s.text = ""
	if text := speed(&p); text != "" {
		s.text = "  " + text
	}
	return s.text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// observed is a transport that reports whether the application answers.
type observed struct {
	http.RoundTripper

	report func(error)
}

// RoundTrip implements [http.RoundTripper]. An answer of a proxy that cannot reach the application is no answer of it, and neither is one that does not end.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.RoundTripper.RoundTrip(r)
	switch {
	case err != nil:
		o.report(err)
	case resp.StatusCode == http.StatusBadGateway, resp.StatusCode == http.StatusServiceUnavailable, resp.StatusCode == http.StatusGatewayTimeout:
		o.report(fmt.Errorf("it answers %s", resp.Status))
	default:
		resp.Body = &observedBody{resp.Body, o.report}
	}
	return resp, err
}

// observedBody reports whether an answer was read to its end.
type observedBody struct {
	io.ReadCloser

	report func(error)
}

// Read implements [io.Reader].
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.report(nil)
	case err != nil:
		b.report(err)
	}
	return n, err
}

// observe calls a function after each request, with an error if the application cannot be reached. A request waits for at most a few seconds then, so
// that it is soon known that the application can be reached again.
func (a *application) observe(report func(error)) {
	a.HTTP = &http.Client{Transport: observed{http.DefaultTransport, report}, CheckRedirect: onlyThere}
	a.Wait = progressEvery
}
