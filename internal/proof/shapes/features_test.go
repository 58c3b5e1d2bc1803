package shapes_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
)

// shapeFeatures are what a task of any shape can. Each returns what is seen of it, which is the same for all shapes, or the name of the option
// with which it is refused.
var shapeFeatures = []struct {
	name string
	run  func(s *shapeTest) string
	// refused are the shapes which do not have the feature.
	refused []string
}{
	{name: "items and outcomes", run: func(s *shapeTest) string {
		id := s.submitted()
		s.ended(id)
		return fmt.Sprint(s.seen(id), "\n", s.touched(), " touched")
	}},
	{name: "metrics and traces", run: func(s *shapeTest) string { return s.measures() }},
	{name: "result", run: func(s *shapeTest) string {
		id := s.submitted()
		s.ended(id)
		s.touched()
		if strings.Contains(s.shape, "stage") {
			id = s.of(id)
		}
		return fmt.Sprint(taskkit.Fetch(s.Context(), s.client, shapeKind, id))
	}},
	{name: "retry of failed items", run: func(s *shapeTest) string {
		id := s.submitted()
		s.ended(id)
		s.x.repairs.Store(true)
		defer s.x.repairs.Store(false)
		of := s.of(id)
		if err := s.client.CheckRetryFailed(s.Context(), of); err != nil {
			s.Errorf("it cannot be retried: %v", err)
		}
		next, err := s.client.RetryFailed(s.Context(), of)
		if err != nil {
			s.Fatal(err)
		}
		s.ended(next)
		_, err = s.client.RetryFailed(s.Context(), of)
		e, again := errors.AsType[*taskkit.DuplicateError](err)
		return fmt.Sprint(s.seen(next), "\n", s.touched(), " touched, again: ", again && e.ID == next)
	}},
	{name: "correction", run: func(s *shapeTest) string {
		id := s.submitted()
		s.ended(id)
		of := s.of(id)
		next, err := s.client.RetryCorrected(s.Context(), of, func(yield func(taskkit.Correction, error) bool) {
			for i, err := range s.client.Items(s.Context(), of, taskkit.OutcomeFailed) {
				if !yield(taskkit.Correction{Task: i.Task, Position: i.Position, Item: i.Text(), Corrected: i.Text() + "11"}, err) {
					return
				}
			}
		})
		if err != nil {
			s.Fatal(err)
		}
		s.ended(next)
		_, err = s.client.RetryCorrected(s.Context(), of, func(yield func(taskkit.Correction, error) bool) {
			yield(taskkit.Correction{Position: 1, Item: "11", Corrected: "12"}, nil)
		})
		e, _ := errors.AsType[*taskkit.CorrectionsError](err)
		s.touched()
		return fmt.Sprint(s.seen(next), "\nunknown ", e != nil && len(e.Unknown) == 1, ", missing ", e != nil && len(e.Missing) > 0)
	}},
	{name: "notifications", run: func(s *shapeTest) string {
		stored := func(of taskkit.ID) (about, all int) {
			page, _, err := s.client.Tasks(s.Context(), taskkit.Filter{Kinds: []string{notice.Kind}, Limit: 1000})
			if err != nil {
				s.Fatal(err)
			}
			for _, n := range page {
				if n.Follows == of {
					about++
				}
			}
			return about, len(page)
		}
		_, before := stored(taskkit.ID{})
		id := s.submitted(taskkit.WithNotifications("ops", notice.Started, notice.Ended))
		s.ended(id)
		s.touched()
		about, all := stored(id)
		return fmt.Sprint(about, " about the task, ", all-before-about, " about its parts")
	}},
	{name: "stop policy", run: func(s *shapeTest) string {
		id := s.submitted(taskkit.WithStopAfter("3"))
		s.until("the task is paused", func() bool { return s.task(id).Control == taskkit.ControlPause })
		s.until("what is in flight is done", func() bool { return !s.task(id).Running() })
		task := s.task(id)
		if p := task.Progress; p.Failed < 3 || p.Failed > 3+4 {
			s.Errorf("paused after %+v", p)
		}
		if _, err := s.client.Stop(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		task = s.ended(id)
		s.touched()
		return fmt.Sprint(task.Status, task.Partial)
	}},
	{name: "preview", run: func(s *shapeTest) string {
		id, err := s.submit(taskkit.WithPreview())
		if err != nil {
			return optionOf(err)
		}
		s.ended(id)
		report, err := s.client.Preview(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		if n := s.touched(); n != 0 {
			s.Errorf("a preview has changed %d rows", n)
		}
		next, err := s.client.Apply(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		s.ended(next)
		return fmt.Sprintf("%+v %+v, applied:\n%s\n%d touched", report.Progress, report.Changes, s.seen(next), s.touched())
	}, refused: []string{"stage", "buckets in a stage", "ranges"}},
	{name: "preview of a sample", run: func(s *shapeTest) string {
		id, err := s.submit(taskkit.WithPreview(), taskkit.WithSample(taskkit.Sample{Probability: 0.3, Seed: 7}))
		if err != nil {
			return optionOf(err)
		}
		s.ended(id)
		if n := s.touched(); n != 0 {
			s.Errorf("a preview has changed %d rows", n)
		}
		return s.seen(id)
	}, refused: []string{"stage", "buckets in a stage", "ranges"}},
	{name: "dry run and continue", run: func(s *shapeTest) string {
		id, err := s.submit(taskkit.WithDryRun())
		if err != nil {
			return optionOf(err)
		}
		task := s.ended(id)
		found := len(s.all(s.client.Items(s.Context(), id, taskkit.OutcomeUnprocessed)))
		text := fmt.Sprintf("%s %s %+v, %d unprocessed, %d touched", task.Status, task.StatusDetail, task.Progress, found, s.touched())
		next, err := s.client.Continue(s.Context(), id)
		if err != nil {
			s.Fatal(err)
		}
		s.ended(next)
		return fmt.Sprintf("%s, then\n%s\n%d touched", text, s.seen(next), s.touched())
	}, refused: []string{"stage", "buckets in a stage"}},
	{name: "canary and approval", run: func(s *shapeTest) string {
		id, err := s.submit(taskkit.WithCanary(10))
		if err != nil {
			return optionOf(err)
		}
		s.until("the task awaits approval", func() bool { return s.task(id).Control == taskkit.ControlPause })
		before := s.task(id).Progress
		if _, err := s.client.Approve(s.Context(), id, taskkit.WithActor(taskkit.ID{1})); err != nil {
			s.Fatal(err)
		}
		s.ended(id)
		return fmt.Sprintf("%+v, then\n%s\n%d touched", before, s.seen(id), s.touched())
	}, refused: []string{"stage", "buckets in a stage", "ranges"}},
	{name: "rate", run: func(s *shapeTest) string {
		id, err := s.submit(taskkit.WithMaxRate(100_000))
		if err != nil {
			return optionOf(err)
		}
		s.ended(id)
		s.touched()
		return s.seen(id)
	}, refused: []string{"stage", "buckets in a stage", "ranges"}},
	{name: "pause and resume", run: func(s *shapeTest) string {
		id, release := s.held()
		if _, err := s.client.Pause(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		release()
		s.until("nothing of it runs", func() bool { return !s.task(id).Running() })
		if task := s.task(id); task.Ended() || task.Progress.Processed() == shapeNumbers {
			s.Errorf("paused: %s, %+v", task.Status, task.Progress)
		}
		if _, err := s.client.Resume(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		s.ended(id)
		return fmt.Sprint(s.seen(id), "\n", s.touched(), " touched")
	}},
	{name: "stop and continue", run: func(s *shapeTest) string {
		id, release := s.held()
		if _, err := s.client.Stop(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		release()
		task := s.ended(id)
		left := len(s.all(s.client.Items(s.Context(), id, taskkit.OutcomeUnprocessed)))
		if p := task.Progress; !task.Partial || left == 0 || int64(left)+p.Processed() != shapeNumbers {
			s.Errorf("stopped: %+v partial %t, %d are left", p, task.Partial, left)
		}
		of := id
		if strings.Contains(s.shape, "stage") {
			of = s.stage(id)
		}
		next, err := s.client.Continue(s.Context(), of)
		if err != nil {
			s.Fatal(err)
		}
		again := s.ended(next)
		return fmt.Sprint(task.Status, again.Status, again.Progress.Total == int64(left), " ", s.touched(), " touched")
	}},
	{name: "deadline", run: func(s *shapeTest) string {
		deadline := time.Now().Add(5 * time.Second) // on a slow machine the batches of buckets in a stage begin late
		id, release := s.held(taskkit.WithDeadline(deadline))
		s.until("the deadline has passed", func() bool { return time.Now().After(deadline) })
		release()
		task := s.ended(id)
		code, _, _ := strings.Cut(task.StatusDetail, ":")
		s.touched()
		return fmt.Sprint(task.Status, " ", code)
	}},
	{name: "limit", run: func(s *shapeTest) string {
		s.x.most.Store(0)
		id := s.submitted(taskkit.WithLimit("shape", 1))
		s.ended(id)
		s.touched()
		return fmt.Sprint("at most ", s.x.most.Load(), " at once")
	}},
	{name: "retry", run: func(s *shapeTest) string {
		s.x.breaks.Store(true)
		id := s.submitted()
		failed := s.ended(id)
		s.x.breaks.Store(false)
		if _, err := s.client.Retry(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		s.ended(id)
		return fmt.Sprint(failed.Status, "\n", s.seen(id), "\n", s.touched(), " touched")
	}},
}

// optionOf is the option with which a submission is refused.
func optionOf(err error) string {
	if e, ok := errors.AsType[*taskkit.OptionError](err); ok {
		return "refused: " + e.Option
	}
	return err.Error()
}
